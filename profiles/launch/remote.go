package launch

import (
	"strings"

	"github.com/ringd/ringd/profiles/words"
)

// rowsRemote are programs that reach other hosts, and containers.
func rowsRemote(name string) (row, bool) {
	switch name {
	case "ssh", "autossh", "slogin", "mosh", "dbclient":
		return row{own: readSSH, flags: exact, opts: "-4 -6 -A -a -B= -b= -C -c= -D= -E= -e= -F=! -f -G~ -g -I=! -i= -J= -K -k -L= -l= -M -m= -N -n -O= -o=o -P= -p= -Q=~ -q -R= -S= -s -T -t -V~ -v -W= -w= -X -x -Y -y --ssh=! --server=! --help,--version~"}, true
	case "sshpass":
		return row{opts: "-p= -f= -d= -e? -P= -v -h,-V~", rest: command}, true
	case "scp":
		return row{own: readOptions, flags: data, opts: "-3 -4 -6 -A -B -C -c= -D=! -F=! -i= -J= -l= -O -o=o -P= -p -q -R -r -S=p -s -T -v -X="}, true
	case "sftp":
		return row{own: readOptions, flags: data, opts: "-4 -6 -A -a -B= -b=! -C -c= -D=! -F=! -f -i= -J= -l= -N -o=o -P= -p -q -R= -r -S=p -s=! -v -X="}, true
	case "ssh-keygen", "ssh-add", "ssh-keyscan":
		return row{opts: "-D=! -w=! -s=! -S= -t= -b= -f= -C= -N= -P= -F= -R= -O= -I= -n= -V= -z= -Y= -p -q -y -l -e="}, true
	case "rsync":
		return row{own: readRsync, opts: "-e,--rsh=h --rsync-path=P --config=! --daemon! -M,--remote-option=! -f,--filter= --exclude= --include= --exclude-from= --include-from= --files-from= -B,--block-size= -T,--temp-dir= --partial-dir= --backup-dir= --suffix= --chmod= --chown= --usermap= --groupmap= --max-size= --min-size= --max-delete= --timeout= --contimeout= --port= --password-file= --log-file= --log-file-format= --out-format= --bwlimit= --compare-dest= --copy-dest= --link-dest= --compress-level= --compress-choice= --checksum-choice= --info= --debug= --sockopts= --address= --protocol= --iconv= --stop-after= --stop-at= --modify-window= --skip-compress= --write-batch= --read-batch= --early-input=! -r,--recursive -R,--relative --remove-source-files -a,--archive -v,--verbose -z,--compress -n,--dry-run -h,--human-readable -E,--executability -x,--one-file-system -X,--xattrs --delete --progress -P --stats --version,--help~"}, true
	case "nc", "netcat", "ncat", "nc.openbsd", "nc.traditional", "cryptcat":
		return row{own: readNetcat}, true
	case "socat", "socat1", "filan":
		return row{own: readSocat}, true
	case "stunnel", "stunnel4", "ngrok", "cloudflared", "frpc", "chisel", "inetd", "xinetd", "tcpserver", "ucspi", "tcpsvd", "socket", "ipsvd", "websocat", "gost":
		return row{own: refuseAlways("it puts programs on the network, as its settings say")}, true
	case "docker", "podman", "nerdctl", "buildah", "docker-compose", "podman-compose", "kubectl", "oc", "k3s", "microk8s", "crictl", "ctr", "lxd", "incus":
		return row{own: readContainer}, true
	case "at", "batch", "crontab", "atrun", "anacron", "cron", "fcrontab":
		return row{own: readLater}, true
	case "rsh", "rexec", "rlogin", "remsh", "pdsh", "clush", "pssh", "parallel-ssh", "ansible", "ansible-playbook", "salt", "fab", "mussh", "dsh":
		return row{own: refuseAlways("it runs commands on other hosts, or as a playbook says")}, true
	case "helm", "terraform", "tofu", "pulumi", "packer", "vault", "gh", "glab", "aws", "gcloud", "az":
		return row{own: readCloud}, true
	default:
		return row{}, false
	}
}

// readSSH reads ssh: words behind the host are text for a shell there. Without
// them that shell reads standard input.
func readSSH(r *reader) {
	host, none := false, false
	for {
		it, ok := r.next()
		if !ok {
			break
		}
		switch {
		case it.effect == "o":
			r.sshOption(it.value)
		case it.unknown:
			r.refuse("an option is not known, so neither is the command behind it", it.word.Text)
		case it.name != "":
			none = none || it.name == "-N" || it.name == "-W"
			r.apply(it)
		case r.lost:
			return
		case !host:
			host = true
			if strings.HasPrefix(it.word.Text, "-") {
				r.refuse("a host that looks like an option", it.word.Text)
			}
		default:
			if !r.idle {
				r.text(r.name, join(r.args[it.at:], r.c.More))
			}
			return
		}
	}
	if host && !none && !r.idle {
		if r.c.More {
			r.refuse("what it runs comes from the input of another", "")
		}
		r.out.Stdin = "ssh"
	}
}

// sshOption reads -o: a setting of ssh.
func (r *reader) sshOption(w words.Word) {
	key, value, _ := strings.Cut(strings.TrimLeft(strings.Replace(w.Text, " ", "=", 1), "= \t"), "=")
	key = strings.ToLower(strings.Trim(key, " \t\""))
	value = strings.Trim(strings.TrimLeft(value, "= \t"), "\"")
	if w.Open && !strings.ContainsAny(w.Text, "= ") {
		r.out.Maybe = true
		return
	}
	switch key {
	case "proxycommand", "localcommand", "knownhostscommand", "remotecommand", "proxyusefdpass", "xauthlocation", "pkcs11provider", "securitykeyprovider", "include", "match", "permitlocalcommand", "smartcarddevice", "authorizedkeyscommand":
		v := strings.ToLower(value)
		if v == "none" || key == "permitlocalcommand" && v == "no" {
			return
		}
		r.refuse("this setting of ssh starts a program, or loads what does", w.Text)
	}
}

// readOptions reads programs of which only options matter.
func readOptions(r *reader) {
	for {
		it, ok := r.next()
		if !ok {
			return
		}
		if it.effect == "o" {
			r.sshOption(it.value)
		} else if it.name != "" {
			r.apply(it)
		}
	}
}

// readRsync reads rsync: the remote shell is a command line.
func readRsync(r *reader) {
	for {
		it, ok := r.next()
		if !ok {
			return
		}
		switch it.effect {
		case "h":
			ws, readable := split(it.value.Text)
			switch {
			case it.value.Open:
				r.out.Maybe = true
			case !readable || len(ws) == 0:
				r.refuse("its remote shell cannot be read", it.value.Text)
			case ws[0].Text == "ssh":
				// rsync puts the host and its own remote words behind it.
				r.startWith("rsync -e", append(ws, words.Known("host")), nil, false)
			default:
				r.startWith("rsync -e", ws, nil, true)
			}
		case "P":
			if it.value.Open {
				r.out.Maybe = true
			} else if it.value.Text != "rsync" && it.value.Text != "/usr/bin/rsync" && it.value.Text != "sudo rsync" {
				r.refuse("it is run by a shell on the other side", it.value.Text)
			}
		default:
			if it.name != "" {
				r.apply(it)
			}
		}
	}
}

// readNetcat reads nc and ncat, which differ in -c and -e.
func readNetcat(r *reader) {
	r.row.opts = "-e,--exec=c --sh-exec=s --lua-exec=! -p,--source-port= -s,--source= -w,--wait= -q= -i,--idle-timeout= -I= -O= -P= -T= -V= -X= -x,--proxy= -G= -g= -m,--max-conns= -M= -W= -d? -k -l -n -u -v -z -4 -6 -C -D -N -r -S -t -U --proxy-type= --proxy-auth= --ssl-cert= --ssl-key= -o,--output= --hex-dump= -h,--help,--version~"
	if r.name == "ncat" {
		r.row.opts += " -c=s"
	} else {
		r.row.opts += " -c?C"
	}
	for {
		it, ok := r.next()
		if !ok {
			return
		}
		switch {
		case it.effect == "C":
			// The traditional one has a text there, OpenBSD's speaks TLS: no value.
			if it.has {
				r.text("nc -c", it.value)
			} else if r.i < len(r.args) && strings.ContainsAny(r.args[r.i].Text, " /|;&") {
				r.text("nc -c", r.args[r.i])
			} else if r.i < len(r.args) && shellName(r.args[r.i].Text) {
				r.text("nc -c", r.args[r.i])
			}
		case it.name != "":
			r.apply(it)
		}
	}
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
func readSocat(r *reader) {
	for _, w := range r.args {
		t := strings.ToLower(w.Text)
		for _, part := range strings.Split(t, "!!") {
			for _, kind := range []string{"exec:", "system:", "shell:", "exec,", "system,"} {
				if strings.HasPrefix(strings.TrimLeft(part, " "), kind) {
					r.refuse("this address starts a program", w.Text)
				}
			}
		}
		if w.Open && (t == "" || !strings.ContainsAny(t, ":-") || strings.HasSuffix(t, "!!")) {
			r.out.Maybe = true
		}
	}
	if r.c.More {
		r.out.Maybe = true
	}
}

// readLater reads what runs commands at another time: nothing but what lists.
func readLater(r *reader) {
	ok := len(r.args) > 0
	for _, w := range r.args {
		switch {
		case w.Open:
			r.out.Maybe = true
			return
		case w.Text == "-l" || r.name == "at" && (w.Text == "-V" || w.Text == "-c" || w.Text == "-r" || w.Text == "-d"):
		case r.name == "at" && strings.Trim(w.Text, "0123456789") == "" && len(r.args) > 1:
		default:
			ok = false
		}
	}
	if !ok || r.c.More {
		r.refuse("what it runs later, nobody decides", r.name)
	}
}

// readContainer reads docker, kubectl and their like. A command in a container is
// judged like one here: what may not run here may not run there by this way.
func readContainer(r *reader) {
	kube := r.name == "kubectl" || r.name == "oc" || r.name == "k3s" || r.name == "microk8s"
	r.row.flags = exact
	r.row.opts = "-H,--host= -c,--context= --config= -l,--log-level= -n,--namespace= --cluster= --kubeconfig= --user= -s,--server= --token= --as= --connection= --url= --root= --storage-driver= -f,--file= -p,--project-name= --project-directory= --profile= --env-file= -D,--debug --tls --tlsverify --tlscacert= --tlscert= --tlskey= -v,--version --address= --request-timeout= --password= --username= --certificate-authority= --parallel= --progress= --ansi="
	var sub []string
	for len(sub) < 4 {
		it, ok := r.next()
		if !ok {
			return
		}
		switch {
		case it.name != "":
		case it.word.Open:
			r.out.Maybe = true
			return
		default:
			sub = append(sub, it.word.Text)
			switch it.word.Text {
			case "container", "compose", "pod", "k8s", "image", "kubectl", "tasks", "task", "c", "t", "beta", "alpha":
				continue
			}
			r.containerSub(sub, kube)
			return
		}
	}
}

// containerSub reads a sub-command that may start a command in a container.
func (r *reader) containerSub(sub []string, kube bool) {
	last := sub[len(sub)-1]
	switch {
	case kube:
		r.kube(last)
		return
	case last == "unshare" || last == "sh":
		r.refuse("it starts a shell", last)
		return
	case last != "exec" && last != "run" && last != "create" || len(sub) > 1 && sub[0] == "image":
		return
	}
	compose := strings.Contains(r.name, "compose") || len(sub) > 1 && sub[0] == "compose"
	if compose && last == "create" {
		return
	}
	r.row.opts = "-d,--detach -i,--interactive -t,--tty -e,--env= --env-file= -u,--user= -w,--workdir= --privileged --detach-keys= --index= -T,--no-TTY --rm -v,--volume= -p,--publish= -P,--publish-all --name= --network,--net= --entrypoint=p -m,--memory= --cpus= -c,--cpu-shares= --cpuset-cpus= -l,--label= -h,--hostname= --mount= --cap-add= --cap-drop= --security-opt= --device= --gpus= --platform= --pull= --restart= --ulimit= --shm-size= --tmpfs= --add-host= --dns= --link= --ipc= --pid= --userns= --uts= --init --read-only --log-driver= --log-opt= --health-cmd=s --stop-signal= --stop-timeout= --runtime= --volumes-from= --volume-driver= --cidfile= --pidfile= --expose= --group-add= --ip= --mac-address= --network-alias= --oom-kill-disable --sysctl= --isolation= --annotation= --cgroup-parent= --cgroupns= --memory-swap= --pids-limit= --quiet -q --no-deps --service-ports --use-aliases --build --remove-orphans -a,--attach= --sig-proxy --no-healthcheck --replace --pod= --conmon-pidfile= --systemd= --tz= --secret= --arch= --os= --latest --hooks-dir=! --help~"
	r.row.rest, r.row.skip = operands, 1
	for {
		it, ok := r.next()
		if !ok {
			return
		}
		switch {
		case it.unknown && !strings.Contains(it.word.Text, "="):
			r.refuse("an option is not known, so neither is the command behind it", it.word.Text)
		case it.name != "":
			r.apply(it)
		case r.lost:
			return
		case r.row.skip > 0:
			r.row.skip-- // the container or the image
		default:
			if !r.idle {
				r.start(r.name+" "+last, r.args[it.at:])
			}
			return
		}
	}
}

// kube reads kubectl exec and run: the command stands behind --, or behind the pod.
func (r *reader) kube(sub string) {
	r.row.opts = "-c,--container= -n,--namespace= -f,--filename= --pod-running-timeout= -i,--stdin -t,--tty -q,--quiet --context= --kubeconfig= --image= --env= -l,--labels= --port= --overrides= --restart= --rm --command --dry-run? -o,--output= --image-pull-policy= --attach --target= --profile= --share-processes --copy-to= --it -it --cluster= --user= --as="
	switch sub {
	case "edit":
		r.refuse("it starts an editor", sub)
	case "plugin", "krew":
		r.refuse("it runs programs of others", sub)
	case "config":
		for _, w := range r.args {
			if strings.HasPrefix(w.Text, "--exec-command") || strings.HasPrefix(w.Text, "--exec-arg") {
				r.refuse("kubectl starts it to log in", w.Text)
			}
		}
	case "diff":
		r.out.Needs = append(r.out.Needs, "diff")
	case "exec", "debug", "run":
		skip := 1
		for {
			it, ok := r.next()
			if !ok {
				return
			}
			switch {
			case it.name != "":
			case r.lost:
				return
			case skip > 0 && !(r.ended && sub != "exec"):
				skip--
			default:
				if r.ended || sub == "exec" {
					r.start("kubectl "+sub, r.args[it.at:])
				}
				return
			}
		}
	case "get", "describe", "logs", "apply", "delete", "create", "rollout", "scale", "top", "version", "cluster-info", "api-resources", "api-versions", "explain", "label", "annotate", "patch", "replace", "expose", "set", "autoscale",
		"cordon", "uncordon", "drain", "taint", "port-forward", "proxy", "cp", "auth", "events", "wait", "completion", "options", "kustomize", "certificate", "attach", "project", "login", "status", "new-project", "whoami", "adm", "rsync", "import", "start", "new-app", "process", "tag", "registry", "server", "agent", "crictl", "enable", "disable", "inspect", "stop", "help":
	default:
		if r.name == "kubectl" { // a program of its name in front of the sub-command
			r.startWith("kubectl", append([]words.Word{words.Known("kubectl-" + sub)}, r.args[r.i:]...), nil, r.c.More)
		}
	}
}

// readCloud reads command lines of cloud services and code hosts: what of them
// starts programs.
func readCloud(r *reader) {
	var subs []string
	for i, w := range r.args {
		t := w.Text
		switch {
		case w.Open && i < 2 && t == "":
			r.out.Maybe = true
			return
		case strings.HasPrefix(t, "-"):
			if strings.HasPrefix(t, "--post-renderer") || strings.HasPrefix(t, "--editor") || strings.HasPrefix(t, "--plugin-dir") || strings.HasPrefix(t, "-plugin-dir") || strings.HasPrefix(t, "--command-line") {
				r.refuse("this option starts a program", t)
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
	case r.name == "gh" && (sub == "alias" && next != "list" || sub == "extension" && next != "list" && next != "search" || sub == "ext" || sub == "codespace" && next == "ssh" || sub == "browse" && !r.has("-n", "--no-browser") || sub == "config" && next == "set" && len(subs) > 2 && ghStarts(subs[2])):
		r.refuse("it sets or runs programs of others", sub)
	case r.name == "helm" && (sub == "plugin" && next != "list" && next != "ls"):
		r.refuse("it sets or runs programs of others", sub)
	case r.name == "terraform" && sub == "console", r.name == "tofu" && sub == "console":
		r.out.Stdin = "hcl"
	case r.name == "gcloud" && (sub == "compute" && next == "ssh" || sub == "alpha" && next == "interactive"), r.name == "az" && (sub == "ssh" || sub == "interactive" || sub == "extension" && next == "add"), r.name == "aws" && (sub == "ssm" && next == "start-session" || sub == "ecs" && next == "execute-command"):
		r.refuse("it runs commands elsewhere", sub)
	case r.name == "aws" && sub == "configure" && next == "set" && len(subs) > 2 && (strings.HasSuffix(subs[2], "credential_process") || strings.HasSuffix(subs[2], "cli_pager")):
		r.refuse("aws starts it", subs[2])
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
