package argv

import "strings"

// The tables here are hand-written. They make patterns match more spellings and
// are no wall: the list of programs is the wall.

// tool is what is known of how a program reads its words. The zero tool is a
// program of which nothing is known.
type tool struct {
	known   bool
	global  string                                          // its options; with sub those in front of the sub-command
	sub     func(name string) string                        // the options behind a sub-command; nil: there are none
	aliases string                                          // of sub-commands: from=to
	usual   func(at int, want, have string, open bool) bool // whether an operand is another spelling; open: what it begins with is known
	drop    func(one, two string) string                    // the sub-command that two words name together; of one alone "": no sub-command
	imply   func(w *Words, x Word) string                   // the option that an operand has the meaning of
	whole   bool                                            // options with one dash are words, not clusters
	exact   bool                                            // long options have no abbreviations
	bundle  bool                                            // the first word is a cluster without its dash
	signals bool                                            // -9 and -KILL name a signal
	short   bool                                            // sub-commands have abbreviations

	location bool // --location=global is --global
}

func toolOf(base string) tool {
	if t, ok := commander(base); ok {
		return t
	}
	spec := fileOptions(base)
	if spec == "" {
		spec = toolOptions(base)
	}
	t := tool{known: spec != "", global: spec}
	switch base {
	case "find", "sqlite3":
		t.whole, t.exact = true, true
	case "java", "openssl", "ffmpeg", "xdotool", "gcc", "g++", "clang", "cc", "convert", "magick":
		t.known, t.whole, t.exact = true, true, true
	case "jq", "sh", "bash", "dash", "ash", "ksh", "zsh", "rbash", "mksh", "ssh", "scp", "python", "python3", "node", "rg", "unzip":
		t.exact = true
	case "tar", "gtar":
		t.bundle = true
	case "kill", "pkill", "pgrep", "killall":
		t.signals = true
	case "chmod":
		t.usual = sameMode
	}
	return t
}

// commander gives the programs with sub-commands.
func commander(base string) (tool, bool) {
	t := tool{known: true}
	switch base {
	case "git":
		t.global, t.sub, t.imply = gitGlobal, gitOptions, gitImplies
		t.aliases = "stage=add annotate=blame whatchanged=log init-db=init"
	case "docker", "podman", "nerdctl":
		t.global = "H|host= c|context= config= l|log-level= D|debug tls tlscacert= tlscert= tlskey= tlsverify v|version url= connection= identity= root= runroot= storage-driver= storage-opt= namespace|n= a|address="
		t.sub, t.drop, t.exact = dockerOptions, dockerCommand, true
		t.aliases = "remove=rm ls=ps list=ps"
	case "kubectl", "oc", "k3s":
		t.global, t.exact, t.usual = kubeOptions, true, sameKind
		t.sub = func(name string) string {
			if name == "logs" || name == "exec" || name == "run" || name == "attach" || name == "debug" {
				return "f|follow p|previous i|stdin t|tty c|container= it rm image= env= command restart= since= tail= " + kubeCommon
			}
			return kubeOptions
		}
	case "npm", "pnpm", "yarn", "bun":
		t.global = npmOptions
		t.sub = func(string) string { return npmOptions }
		t.aliases, t.short, t.location = npmAliases, base == "npm", true
	case "pip", "pip3", "pipx", "uv", "poetry":
		t.global = pipOptions
		t.sub = func(string) string { return pipOptions }
	case "cargo":
		t.global, t.exact = cargoOptions, true
		t.sub = func(string) string { return cargoOptions }
		t.aliases = "b=build c=check d=doc t=test r=run rm=remove"
		t.drop = func(one, _ string) string {
			if strings.HasPrefix(one, "+") {
				return "" // a toolchain
			}
			return one
		}
	case "go":
		t.global, t.whole, t.exact = "C= help h version V", true, true
		t.sub = func(string) string { return goOptions }
	case "terraform", "tofu":
		t.global, t.whole, t.exact = "chdir= help h version v", true, true
		t.sub = func(string) string {
			return "auto-approve destroy refresh-only input= lock= lock-timeout= no-color parallelism= refresh= replace= target= var= var-file= out= state= state-out= backup= backend= backend-config= reconfigure migrate-state upgrade json compact-warnings force-copy force plugin-dir= get= test-directory= check diff recursive write= list="
		}
	case "helm":
		t.global, t.exact = helmOptions, true
		t.sub = func(string) string { return helmOptions }
		t.aliases = "del=uninstall delete=uninstall un=uninstall ls=list hist=history"
	default:
		return moreCommanders(base)
	}
	return t, true
}

func moreCommanders(base string) (tool, bool) {
	t := tool{known: true}
	same := ""
	switch base {
	case "systemctl":
		same = toolOptions("systemctl")
		t.signals = false
	case "apt", "apt-get", "aptitude", "apt-cache":
		same = toolOptions("apt")
	case "gh", "glab":
		t.exact = true
		same = "R|repo= hostname= b|body= t|title= B|base= H|head= F|body-file= f|field= X|method= a|assignee= l|label= r|reviewer= m|milestone= L|limit= s|state= q|jq= json= template= yes admin auto d|delete-branch merge squash rebase w|web draft fill p|project= c|comments help version force confirm public private visibility= source= remote= push clone raw-field= input= paginate header= n|name="
	case "aws":
		t.exact = true
		same = "profile= region= output= query= endpoint-url= no-cli-pager no-paginate no-verify-ssl debug recursive force dryrun quiet delete acl= exclude= include= cli-read-timeout= cli-connect-timeout= ca-bundle= color= no-sign-request no-progress sse= storage-class= grants= instance-ids= bucket= key= function-name= stack-name= name= policy-arn= role-name= user-name="
	case "gcloud":
		same = "project= account= configuration= format= filter= q|quiet verbosity= zone= region= limit= page-size= impersonate-service-account= log-http user-output-enabled= async cluster= flatten= billing-project= trace-token="
	case "sudo", "doas", "nice", "nohup", "xargs", "stdbuf", "env", "setsid", "ionice", "time", "command", "exec", "builtin", "timeout":
		return wrapper(base), true
	case "brew":
		same = "f|force v|verbose d|debug q|quiet n|dry-run cask formula zap ignore-dependencies build-from-source HEAD overwrite"
		t.aliases = "remove=uninstall rm=uninstall ls=list"
	case "svn", "hg", "bundle", "gem", "composer", "dotnet", "mvn", "gradle", "conda", "rustup", "flyctl", "heroku", "vercel", "az", "ip", "vagrant", "ansible", "supervisorctl", "service", "launchctl", "journalctl":
		same = ""
	default:
		return tool{}, false
	}
	t.global = same
	t.sub = func(string) string { return same }
	return t, true
}

// wrapper knows that the first operand names the program that the rest is for.
func wrapper(base string) tool {
	t := tool{known: true, global: toolOptions(base)}
	t.sub = func(name string) string {
		name = Base(name)
		if spec := fileOptions(name); spec != "" {
			return spec
		}
		return toolOptions(name)
	}
	t.drop = func(one, _ string) string {
		switch {
		case base == "env" && strings.Contains(one, "="):
			return ""
		case base == "timeout" && strings.Trim(one, "0123456789.smhd") == "":
			return ""
		default:
			return one
		}
	}
	return t
}

const gitGlobal = "v|version h|help C= c= exec-path? html-path man-path info-path p|paginate P|no-pager no-replace-objects bare git-dir= work-tree= namespace= super-prefix= config-env= literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs no-optional-locks no-advice no-lazy-fetch list-cmds= attr-source="

// gitImplies knows that a + in front of what is pushed forces it, and that an empty
// source deletes.
func gitImplies(w *Words, x Word) string {
	if len(w.operands) == 0 || w.operands[0].word.Text != "push" || x.Text == "" {
		return ""
	}
	switch {
	case x.Text[0] == '+':
		return "force"
	case x.Text[0] == ':' && (len(x.Text) > 1 || x.Open):
		return "delete"
	default:
		return ""
	}
}

func dockerOptions(sub string) string {
	switch sub {
	case "run", "create":
		return "a|attach= add-host= annotation= blkio-weight= cap-add= cap-drop= cgroup-parent= cgroupns= cidfile= c|cpu-shares= cpus= cpuset-cpus= cpuset-mems= d|detach detach-keys= device= device-cgroup-rule= dns= dns-option= dns-search= domainname= entrypoint= e|env= env-file= expose= gpus= group-add= health-cmd= health-interval= h|hostname= init i|interactive ip= ip6= ipc= isolation= kernel-memory= l|label= label-file= link= log-driver= log-opt= mac-address= m|memory= memory-swap= mount= name= net|network= net-alias|network-alias= no-healthcheck oom-kill-disable oom-score-adj= pid= pids-limit= platform= privileged p|publish= P|publish-all pull= q|quiet read-only restart= rm runtime= security-opt= shm-size= sig-proxy stop-signal= stop-timeout= storage-opt= sysctl= tmpfs= t|tty ulimit= u|user= userns= uts= v|volume= volume-driver= volumes-from= w|workdir="
	case "exec":
		return "d|detach detach-keys= e|env= env-file= i|interactive privileged t|tty u|user= w|workdir="
	case "build", "buildx":
		return "add-host= build-arg= cache-from= f|file= force-rm iidfile= label= network= no-cache o|output= platform= progress= pull push load q|quiet rm secret= ssh= t|tag= target= builder="
	case "logs":
		return "details f|follow since= n|tail= t|timestamps until="
	case "ps", "images", "volume", "network", "system":
		return "a|all f|filter= format= n|last= l|latest no-trunc q|quiet s|size digests force volumes"
	case "compose":
		return "f|file= p|project-name= profile= env-file= project-directory= ansi= d|detach v|volumes rmi= remove-orphans force-recreate build no-deps t|timeout= e|env= T|no-TTY u|user= w|workdir= rm"
	default: // rm, rmi, kill, stop, push, pull, cp …
		return "f|force v|volumes l|link a|all q|quiet s|signal= t|time= no-prune i|interactive filter= follow-link archive platform="
	}
}

// dockerCommand knows the commands that docker has twice.
func dockerCommand(one, two string) string {
	if two == "" {
		return one
	}
	switch one {
	case "container":
		if two == "prune" || two == "inspect" {
			return one
		}
		return two
	case "image":
		switch two {
		case "rm", "remove":
			return "rmi"
		case "ls", "list":
			return "images"
		case "build", "push", "pull", "tag", "save", "load", "import", "history":
			return two
		}
	case "builder", "buildx":
		if two == "build" {
			return two
		}
	}
	return one
}

const (
	kubeCommon   = "n|namespace= context= cluster= kubeconfig= user= s|server= token= as= as-group= as-uid= request-timeout= v= A|all-namespaces l|selector= field-selector= o|output= all force now grace-period= cascade? dry-run? timeout= wait? ignore-not-found certificate-authority= client-certificate= client-key= insecure-skip-tls-verify tls-server-name= cache-dir= username= password= "
	kubeOptions  = kubeCommon + "f|filename= k|kustomize= R|recursive w|watch L|label-columns= show-labels sort-by= template= record overwrite prune replicas= p|patch= type= subresource= field-manager= server-side force-conflicts image= port= target-port= from-literal= from-file= from-env-file= ignore-daemonsets delete-emptydir-data delete-local-data disable-eviction no-headers raw= i|interactive"
	npmOptions   = "g|global D|save-dev|dev S|save P|save-prod O|save-optional E|save-exact B|save-bundle no-save f|force d|dry-run n|yes|y h|help|usage s|silent q|quiet verbose l|long a|all p|parseable|package= C|prefix= registry= tag= access= otp= location= w|workspace= ws|workspaces include= omit= only= scope= userconfig= globalconfig= cache= loglevel= json ignore-scripts legacy-peer-deps prefer-offline offline no-audit no-fund no-package-lock package-lock-only production foreground-scripts script-shell= c|call= if-present depth= auth-type= provenance install-strategy= cwd= dir= filter= r|recursive frozen-lockfile immutable W|ignore-workspace-root-check"
	pipOptions   = "h|help debug isolated require-virtualenv python= v|verbose V|version q|quiet log= no-input keyring-provider= proxy= retries= timeout= exists-action= trusted-host= cert= client-cert= cache-dir= no-cache-dir disable-pip-version-check no-color use-feature= use-deprecated= y|yes r|requirement= c|constraint= no-deps pre e|editable= dry-run t|target= platform= python-version= implementation= abi= user root= prefix= src= U|upgrade upgrade-strategy= force-reinstall I|ignore-installed ignore-requires-python no-build-isolation use-pep517 check-build-dependencies break-system-packages compile no-compile no-warn-script-location no-warn-conflicts no-binary= only-binary= prefer-binary require-hashes progress-bar= root-user-action= report= no-clean i|index-url|pypi-url= extra-index-url= no-index f|find-links= d|dest= w|wheel-dir= l|local path= outdated uptodate format= C|config-settings= global-option= build-option= group= with= extra= p= no-root system"
	cargoOptions = "v|verbose q|quiet color= frozen locked offline config= Z= C= p|package= all|workspace exclude= j|jobs= r|release profile= F|features= all-features no-default-features target= target-dir= manifest-path= message-format= lib bin= bins example= examples test= tests bench= benches all-targets no-run no-fail-fast allow-dirty dry-run n token= registry= index= no-verify f|force git= branch= tag= rev= path= root= version= vers= list h|help V fix keep-going doc open undo yank"
	goOptions    = "C= a n p= race msan asan cover covermode= coverpkg= v work x asmflags= buildmode= buildvcs= compiler= gccgoflags= gcflags= installsuffix= json ldflags= linkshared mod= modcacherw modfile= overlay= pgo= pkgdir= tags= trimpath toolexec= exec= o= i c count= run= bench= benchmem benchtime= timeout= short failfast parallel= cpu= shuffle= list= fuzz= fuzztime= vet= coverprofile= cpuprofile= memprofile= outputdir= args t u d f= m e deps export find test compiled cache testcache modcache fuzzcache r w diff reuse= require= droprequire= replace= dropreplace= go= toolchain= insecure vettool="
	helmOptions  = "n|namespace= kube-context= kubeconfig= kube-apiserver= kube-token= kube-as-user= registry-config= repository-cache= repository-config= debug f|values= set= set-string= set-file= set-json= version= repo= install i create-namespace force atomic wait timeout= dry-run? reuse-values reset-values no-hooks keep-history a|all A|all-namespaces o|output= q|short description= cascade= d|destination= username= password= ca-file= cert-file= key-file= devel verify untar post-renderer= l|selector= history-max= max="
)

// sameMode knows that zeros in front of a mode do not count.
func sameMode(at int, want, have string, open bool) bool {
	digits := func(w string) bool { return strings.Trim(w, "01234567") == "" }
	want, have = strings.TrimLeft(want, "0"), strings.TrimLeft(have, "0")
	if at > 0 || !digits(want) || !digits(have) {
		return false
	}
	return open && strings.HasPrefix(want, have) || want == have && want != ""
}

// sameKind knows the short names of kinds of things, in any number and case, alone
// or with the name of a thing.
func sameKind(at int, want, have string, open bool) bool {
	if at == 0 {
		return false
	}
	if open {
		return !strings.Contains(have, "/") || kindOf(have) == kindOf(want)
	}
	for one := range strings.SplitSeq(have, ",") {
		if kindOf(one) == kindOf(want) {
			return true
		}
	}
	return false
}

func kindOf(w string) string {
	kind, _, _ := strings.Cut(strings.ToLower(w), "/")
	kind, _, _ = strings.Cut(kind, ".")
	kind = pick(kind, "ns=namespace po=pod svc=service deploy=deployment ds=daemonset sts=statefulset rs=replicaset cm=configmap pvc=persistentvolumeclaim pv=persistentvolume ing=ingress no=node sa=serviceaccount cj=cronjob crd=customresourcedefinition crds=customresourcedefinition ep=endpoint netpol=networkpolicy hpa=horizontalpodautoscaler quota=resourcequota ingresses=ingress networkpolicies=networkpolicy storageclasses=storageclass sc=storageclass")
	if len(kind) > 3 && !strings.HasSuffix(kind, "ss") {
		kind = strings.TrimSuffix(kind, "s")
	}
	return kind
}

const npmAliases = "i=install in=install ins=install inst=install insta=install instal=install isnt=install isnta=install isntal=install isntall=install add=install " +
	"r=uninstall rm=uninstall un=uninstall remove=uninstall unlink=uninstall t=test tst=test run=run-script rum=run-script urn=run-script x=exec " +
	"up=update upgrade=update udpate=update ls=list la=list ll=list c=config view=info show=info v=info rb=rebuild ln=link author=owner cit=install-ci-test it=install-test clean-install=ci ic=ci install-clean=ci isntall-clean=ci login=adduser add-user=adduser"

// pick gives the word that a line of "from=to" has for w.
func pick(w, line string) string {
	for i := 0; i < len(line); {
		pair := line[i:]
		if n := strings.IndexByte(pair, ' '); n >= 0 {
			pair = pair[:n]
		}
		if from, to, _ := strings.Cut(pair, "="); from == w {
			return to
		}
		i += len(pair) + 1
	}
	return w
}

const signalEntry = "s|n|signal="

// signal gives the number of a signal by any of its names.
func signal(name string) (string, bool) {
	if name != "" && strings.Trim(name, "0123456789") == "" {
		if n := strings.TrimLeft(name, "0"); n != "" {
			return n, true
		}
		return "0", true
	}
	if len(name) < 3 {
		return "", false
	}
	short := strings.TrimPrefix(strings.ToUpper(name), "SIG")
	n := pick(short, "HUP=1 INT=2 QUIT=3 ILL=4 TRAP=5 ABRT=6 IOT=6 BUS=7 FPE=8 KILL=9 USR1=10 SEGV=11 USR2=12 PIPE=13 ALRM=14 TERM=15 CHLD=17 CONT=18 STOP=19 TSTP=20 TTIN=21 TTOU=22 WINCH=28")
	return n, n != short
}
