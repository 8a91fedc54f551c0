package programs

import (
	"strings"

	"github.com/ringd/ringd/profiles/argv"
)

// remoteRow are programs that reach other hosts, and containers.
func remoteRow(name string) (row, bool) {
	switch name {
	case "ssh", "autossh", "slogin", "mosh", "dbclient":
		return row{Own: ownTool(readSSH), Flags: exact, Opts: "-4 -6 -A -a -B= -b= -C -c= -D= -E= -e= -F=! -f -G~ -g -I=! -i= -J= -K -k -L= -l= -M -m= -N -n -O= -o=o -P= -p= -Q=~ -q -R= -S= -s -T -t -V~ -v -W= -w= -X -x -Y -y --ssh=! --server=! --help,--version~"}, true
	case "sshpass":
		return row{Opts: "-p= -f= -d= -e? -P= -v -h,-V~", Rest: Command}, true
	case "scp":
		return row{Own: ownTool(readOptions), Flags: data, Opts: "-3 -4 -6 -A -B -C -c= -D=! -F=! -i= -J= -l= -O -o=o -P= -p -q -R -r -S=p -s -T -v -X="}, true
	case "sftp":
		return row{Own: ownTool(readOptions), Flags: data, Opts: "-4 -6 -A -a -B= -b=! -C -c= -D=! -F=! -f -i= -J= -l= -N -o=o -P= -p -q -R= -r -S=p -s=! -v -X="}, true
	case "ssh-keygen", "ssh-add", "ssh-keyscan":
		return row{Opts: "-D=! -w=! -s=! -S= -t= -b= -f= -C= -N= -P= -F= -R= -O= -I= -n= -V= -z= -Y= -p -q -y -l -e="}, true
	case "rsync":
		return row{Own: ownTool(readRsync), Opts: "-e,--rsh=h --rsync-path=P --config=! --daemon! -M,--remote-option=! -f,--filter= --exclude= --include= --exclude-from= --include-from= --files-from= -B,--block-size= -T,--temp-dir= --partial-dir= --backup-dir= --suffix= --chmod= --chown= --usermap= --groupmap= --max-size= --min-size= --max-delete= --timeout= --contimeout= --port= --password-file= --log-file= --log-file-format= --out-format= --bwlimit= --compare-dest= --copy-dest= --link-dest= --compress-level= --compress-choice= --checksum-choice= --info= --debug= --sockopts= --address= --protocol= --iconv= --stop-after= --stop-at= --modify-window= --skip-compress= --write-batch= --read-batch= --early-input=! -r,--recursive -R,--relative --remove-source-files -a,--archive -v,--verbose -z,--compress -n,--dry-run -h,--human-readable -E,--executability -x,--one-file-system -X,--xattrs --delete --progress -P --stats --version,--help~"}, true
	case "nc", "netcat", "ncat", "nc.openbsd", "nc.traditional", "cryptcat":
		return row{Own: ownTool(readNetcat)}, true
	case "socat", "socat1", "filan":
		return row{Own: ownTool(readSocat)}, true
	case "stunnel", "stunnel4", "ngrok", "cloudflared", "frpc", "chisel", "inetd", "xinetd", "tcpserver", "ucspi", "tcpsvd", "socket", "ipsvd", "websocat", "gost":
		return row{Own: Always("it puts programs on the network, as its settings say")}, true
	case "docker", "podman", "nerdctl", "buildah", "docker-compose", "podman-compose", "kubectl", "oc", "k3s", "microk8s", "crictl", "ctr", "lxd", "incus":
		return row{Own: ownTool(readContainer)}, true
	case "at", "batch", "crontab", "atrun", "anacron", "cron", "fcrontab":
		return row{Own: ownTool(readLater)}, true
	case "rsh", "rexec", "rlogin", "remsh", "pdsh", "clush", "pssh", "parallel-ssh", "ansible", "ansible-playbook", "salt", "fab", "mussh", "dsh":
		return row{Own: Always("it runs commands on other hosts, or as a playbook says")}, true
	case "helm", "terraform", "tofu", "pulumi", "packer", "vault", "gh", "glab", "aws", "gcloud", "az":
		return row{Own: ownTool(readCloud)}, true
	default:
		return row{}, false
	}
}

// readSSH reads ssh: words behind the host are text for a shell there. Without
// them that shell reads standard input.
func readSSH(r *toolReader) {
	host, none := false, false
	for {
		it, ok := r.Next()
		if !ok {
			break
		}
		switch {
		case it.Effect == "o":
			r.sshOption(it.Value)
		case it.Unknown:
			r.Refuse("an option is not known, so neither is the command behind it", it.Word.Text)
		case it.Name != "":
			none = none || it.Name == "-N" || it.Name == "-W"
			r.Apply(it)
		case r.Lost:
			return
		case !host:
			host = true
			if strings.HasPrefix(it.Word.Text, "-") {
				r.Refuse("a host that looks like an option", it.Word.Text)
			}
		default:
			if !r.Idle {
				r.Text(r.Name, Join(r.Args[it.At:], r.C.More))
			}
			return
		}
	}
	if host && !none && !r.Idle {
		if r.C.More {
			r.Refuse("what it runs comes from the input of another", "")
		}
		r.Out.Stdin = "ssh"
	}
}

// sshOption reads -o: a setting of ssh.
func (r *toolReader) sshOption(w argv.Word) {
	key, value, _ := strings.Cut(strings.TrimLeft(strings.Replace(w.Text, " ", "=", 1), "= \t"), "=")
	key = strings.ToLower(strings.Trim(key, " \t\""))
	value = strings.Trim(strings.TrimLeft(value, "= \t"), "\"")
	if w.Open && !strings.ContainsAny(w.Text, "= ") {
		r.Out.Maybe = true
		return
	}
	switch key {
	case "proxycommand", "localcommand", "knownhostscommand", "remotecommand", "proxyusefdpass", "xauthlocation", "pkcs11provider", "securitykeyprovider", "include", "match", "permitlocalcommand", "smartcarddevice", "authorizedkeyscommand":
		v := strings.ToLower(value)
		if v == "none" || key == "permitlocalcommand" && v == "no" {
			return
		}
		r.Refuse("this setting of ssh starts a program, or loads what does", w.Text)
	}
}

// readOptions reads programs of which only options matter.
func readOptions(r *toolReader) {
	for {
		it, ok := r.Next()
		if !ok {
			return
		}
		if it.Effect == "o" {
			r.sshOption(it.Value)
		} else if it.Name != "" {
			r.Apply(it)
		}
	}
}

// readRsync reads rsync: the remote shell is a command line.
func readRsync(r *toolReader) {
	for {
		it, ok := r.Next()
		if !ok {
			return
		}
		switch it.Effect {
		case "h":
			ws, readable := Split(it.Value.Text)
			switch {
			case it.Value.Open:
				r.Out.Maybe = true
			case !readable || len(ws) == 0:
				r.Refuse("its remote shell cannot be read", it.Value.Text)
			case ws[0].Text == "ssh":
				// rsync puts the host and its own remote words behind it.
				r.StartWith("rsync -e", ws, nil, false)
			default:
				r.StartWith("rsync -e", ws, nil, true)
			}
		case "P":
			if it.Value.Open {
				r.Out.Maybe = true
			} else if it.Value.Text != "rsync" && it.Value.Text != "/usr/bin/rsync" && it.Value.Text != "sudo rsync" {
				r.Refuse("it is run by a shell on the other side", it.Value.Text)
			}
		default:
			if it.Name != "" {
				r.Apply(it)
			}
		}
	}
}

// readNetcat reads nc and ncat, which differ in -c and -e.
func readNetcat(r *toolReader) {
	r.Row.Opts = "-e,--exec=c --sh-exec=s --lua-exec=! -p,--source-port= -s,--source= -w,--wait= -q= -i,--idle-timeout= -I= -O= -P= -T= -V= -X= -x,--proxy= -G= -g= -m,--max-conns= -M= -W= -d? -k -l -n -u -v -z -4 -6 -C -D -N -r -S -t -U --proxy-type= --proxy-auth= --ssl-cert= --ssl-key= -o,--output= --hex-dump= -h,--help,--version~"
	if r.Name == "ncat" {
		r.Row.Opts += " -c=s"
	} else {
		r.Row.Opts += " -c?C"
	}
	for {
		it, ok := r.Next()
		if !ok {
			return
		}
		switch {
		case it.Effect == "C":
			// The traditional one has a text there, OpenBSD's speaks TLS: no value.
			if it.Has {
				r.Text("nc -c", it.Value)
			} else if r.I < len(r.Args) && !r.hostAndPort() {
				r.Text("nc -c", r.Args[r.I])
			}
		case it.Name != "":
			r.Apply(it)
		}
	}
}

// hostAndPort reports that the next words are no text for a shell.
func (r *toolReader) hostAndPort() bool {
	return r.I+2 == len(r.Args) && !r.Args[r.I+1].Open && r.Args[r.I+1].Text != "" && strings.Trim(r.Args[r.I+1].Text, "0123456789") == "" && !strings.ContainsAny(r.Args[r.I].Text, " /|;&") && !shellName(r.Args[r.I].Text)
}

func shellName(t string) bool {
	switch t {
	case "sh", "bash", "dash", "zsh", "ksh", "ash", "python", "python3", "perl":
		return true
	default:
		return false
	}
}

// readSocat reads socat: addresses that start programs.
func readSocat(r *toolReader) {
	for _, w := range r.Args {
		t := strings.ToLower(w.Text)
		for _, part := range strings.Split(t, "!!") {
			for _, kind := range []string{"exec:", "system:", "shell:", "exec,", "system,"} {
				if strings.HasPrefix(strings.TrimLeft(part, " "), kind) {
					r.Refuse("this address starts a program", w.Text)
				}
			}
		}
		if w.Open && (t == "" || !strings.ContainsAny(t, ":-") || strings.HasSuffix(t, "!!")) {
			r.Out.Maybe = true
		}
	}
	if r.C.More {
		r.Out.Maybe = true
	}
}

// readLater reads what runs commands at another time: nothing but what lists.
func readLater(r *toolReader) {
	ok := len(r.Args) > 0
	for _, w := range r.Args {
		switch {
		case w.Open:
			r.Out.Maybe = true
			return
		case w.Text == "-l" || r.Name == "at" && (w.Text == "-V" || w.Text == "-c" || w.Text == "-r" || w.Text == "-d"):
		case r.Name == "at" && strings.Trim(w.Text, "0123456789") == "" && len(r.Args) > 1:
		default:
			ok = false
		}
	}
	if !ok || r.C.More {
		r.Refuse("what it runs later, nobody decides", r.Name)
	}
}

// readContainer reads docker, kubectl and their like. A command in a container is
// judged like one here: what may not run here may not run there by this way.
func readContainer(r *toolReader) {
	kube := r.Name == "kubectl" || r.Name == "oc" || r.Name == "k3s" || r.Name == "microk8s"
	r.Row.Flags = exact
	r.Row.Opts = "-H,--host= -c,--context= --config= -l,--log-level= -n,--namespace= --cluster= --kubeconfig= --user= -s,--server= --token= --as= --connection= --url= --root= --storage-driver= -f,--file= -p,--project-name= --project-directory= --profile= --env-file= -D,--debug --tls --tlsverify --tlscacert= --tlscert= --tlskey= -v,--version --address= --request-timeout= --password= --username= --certificate-authority= --parallel= --progress= --ansi="
	var sub []string
	for len(sub) < 4 {
		it, ok := r.Next()
		if !ok {
			return
		}
		switch {
		case it.Name != "":
		case it.Word.Open:
			r.Out.Maybe = true
			return
		default:
			sub = append(sub, it.Word.Text)
			switch it.Word.Text {
			case "container", "compose", "pod", "k8s", "image", "kubectl", "tasks", "task", "c", "t", "beta", "alpha":
				continue
			}
			r.containerSub(sub, kube)
			return
		}
	}
}

// containerSub reads a sub-command that may start a command in a container.
func (r *toolReader) containerSub(sub []string, kube bool) {
	last := sub[len(sub)-1]
	switch {
	case kube:
		r.kube(last)
		return
	case last == "unshare" || last == "sh":
		r.Refuse("it starts a shell", last)
		return
	case last != "exec" && last != "run" && last != "create" || len(sub) > 1 && sub[0] == "image":
		return
	}
	compose := strings.Contains(r.Name, "compose") || len(sub) > 1 && sub[0] == "compose"
	if compose && last == "create" {
		return
	}
	r.Row.Opts = "-d,--detach -i,--interactive -t,--tty -e,--env= --env-file= -u,--user= -w,--workdir= --privileged --detach-keys= --index= -T,--no-TTY --rm -v,--volume= -p,--publish= -P,--publish-all --name= --network,--net= --entrypoint=n -m,--memory= --cpus= -c,--cpu-shares= --cpuset-cpus= -l,--label= -h,--hostname= --mount= --cap-add= --cap-drop= --security-opt= --device= --gpus= --platform= --pull= --restart= --ulimit= --shm-size= --tmpfs= --add-host= --dns= --link= --ipc= --pid= --userns= --uts= --init --read-only --log-driver= --log-opt= --health-cmd=s --stop-signal= --stop-timeout= --runtime= --volumes-from= --volume-driver= --cidfile= --pidfile= --expose= --group-add= --ip= --mac-address= --network-alias= --oom-kill-disable --sysctl= --isolation= --annotation= --cgroup-parent= --cgroupns= --memory-swap= --pids-limit= --quiet -q --no-deps --service-ports --use-aliases --build --remove-orphans -a,--attach= --sig-proxy --no-healthcheck --replace --pod= --conmon-pidfile= --systemd= --tz= --secret= --arch= --os= --latest --hooks-dir=! --help~"
	r.Row.Rest, r.Row.Skip = operands, 1
	var entry []argv.Word
	for {
		it, ok := r.Next()
		if !ok {
			r.StartWith(r.Name+" "+last, entry, nil, true)
			return
		}
		switch {
		case it.Effect == "n" && it.Value.Text != "":
			entry = []argv.Word{it.Value}
		case it.Effect == "n":
			r.Out.Maybe = r.Out.Maybe || it.Value.Open
		case it.Unknown && !strings.Contains(it.Word.Text, "="):
			r.Refuse("an option is not known, so neither is the command behind it", it.Word.Text)
		case it.Name != "":
			r.Apply(it)
		case r.Lost:
			return
		case r.Row.Skip > 0:
			r.Row.Skip-- // the container or the image
		default:
			if !r.Idle {
				r.Start(r.Name+" "+last, append(entry, r.Args[it.At:]...))
			}
			return
		}
	}
}

// kube reads kubectl exec and run: the command stands behind --, or behind the pod.
func (r *toolReader) kube(sub string) {
	r.Row.Opts = "-c,--container= -n,--namespace= -f,--filename= --pod-running-timeout= -i,--stdin -t,--tty -q,--quiet --context= --kubeconfig= --image= --env= -l,--labels= --port= --overrides= --restart= --rm --command --dry-run? -o,--output= --image-pull-policy= --attach --target= --profile= --share-processes --copy-to= --it -it --cluster= --user= --as="
	switch sub {
	case "edit":
		r.Refuse("it starts an editor", sub)
	case "plugin", "krew":
		r.Refuse("it runs programs of others", sub)
	case "config":
		for _, w := range r.Args {
			r.Out.Maybe = r.Out.Maybe || w.Open && (w.Text == "" || w.Many)
			if strings.HasPrefix(w.Text, "--exec-command") || strings.HasPrefix(w.Text, "--exec-arg") {
				r.Refuse("kubectl starts it to log in", w.Text)
			}
		}
	case "diff":
		r.Out.Needs = append(r.Out.Needs, "diff")
	case "exec", "debug", "run":
		skip := 1
		for {
			it, ok := r.Next()
			if !ok {
				return
			}
			switch {
			case it.Name != "":
			case r.Lost:
				return
			case skip > 0 && !(r.Ended && sub != "exec"):
				skip--
			default:
				if r.Ended || sub == "exec" {
					r.Start("kubectl "+sub, r.Args[it.At:])
				}
				return
			}
		}
	case "get", "describe", "logs", "apply", "delete", "create", "rollout", "scale", "top", "version", "cluster-info", "api-resources", "api-versions", "explain", "label", "annotate", "patch", "replace", "expose", "set", "autoscale",
		"cordon", "uncordon", "drain", "taint", "port-forward", "proxy", "cp", "auth", "events", "wait", "completion", "options", "kustomize", "certificate", "attach", "project", "login", "status", "new-project", "whoami", "adm", "rsync", "import", "start", "new-app", "process", "tag", "registry", "server", "agent", "crictl", "enable", "disable", "inspect", "stop", "help":
	default:
		if r.Name == "kubectl" { // a program of its name in front of the sub-command
			r.StartWith("kubectl", append([]argv.Word{argv.Known("kubectl-" + sub)}, r.Args[r.I:]...), nil, r.C.More)
		}
	}
}

// readCloud reads command lines of cloud services and code hosts: what of them
// starts programs.
func readCloud(r *toolReader) {
	behind := false
	var subs []string
	for i, w := range r.Args {
		t := w.Text
		switch {
		case w.Open && i < 2 && t == "":
			r.Out.Maybe = true
			return
		case w.Open && !w.Fed && behind && t == "" && r.Name == "gh":
			r.Out.Maybe = true
		case behind && r.Name == "gh" && (strings.HasPrefix(t, "-c") || strings.HasPrefix(t, "--co") || strings.HasPrefix(t, "-u") || strings.HasPrefix(t, "--up") || strings.HasPrefix(t, "--te")):
			r.Refuse("by this option git starts a program, or may", t)
		case strings.HasPrefix(t, "-"):
			behind = behind || t == "--"
			if strings.HasPrefix(t, "--post-renderer") || strings.HasPrefix(t, "--editor") || strings.HasPrefix(t, "--plugin-dir") || strings.HasPrefix(t, "-plugin-dir") || strings.HasPrefix(t, "--command-line") {
				r.Refuse("this option starts a program", t)
			}
		case len(subs) < 3:
			subs = append(subs, t)
		}
	}
	sub, next := "", ""
	if len(subs) > 0 {
		sub = subs[0]
	}
	if len(subs) > 1 {
		next = subs[1]
	}
	switch {
	case r.Name == "gh" && (sub == "alias" && next != "list" || sub == "extension" && next != "list" && next != "search" || sub == "ext" || sub == "codespace" && next == "ssh" || sub == "browse" && !r.HasWord("-n", "--no-browser") || sub == "config" && next == "set" && len(subs) > 2 && ghStarts(subs[2])):
		r.Refuse("it sets or runs programs of others", sub)
	case r.Name == "helm" && (sub == "plugin" && next != "list" && next != "ls"):
		r.Refuse("it sets or runs programs of others", sub)
	case r.Name == "terraform" && sub == "console", r.Name == "tofu" && sub == "console":
		r.Out.Stdin = "hcl"
	case r.Name == "gcloud" && (sub == "compute" && next == "ssh" || sub == "alpha" && next == "interactive"), r.Name == "az" && (sub == "ssh" || sub == "interactive" || sub == "extension" && next == "add"), r.Name == "aws" && (sub == "ssm" && next == "start-session" || sub == "ecs" && next == "execute-command"):
		r.Refuse("it runs commands elsewhere", sub)
	case r.Name == "aws" && sub == "configure" && next == "set" && len(subs) > 2 && (strings.HasSuffix(subs[2], "credential_process") || strings.HasSuffix(subs[2], "cli_pager")):
		r.Refuse("aws starts it", subs[2])
	}
}

func ghStarts(key string) bool {
	switch key {
	case "editor", "pager", "browser":
		return true
	default:
		return false
	}
}
