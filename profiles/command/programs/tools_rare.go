package programs

import (
	"strings"
)

// rareTool are tools of which few have one.
func rareTool(name string) (row, bool) {
	switch name {
	case "borg", "borgmatic":
		return row{Own: ownTool(readFirst("with-lock", "mount")), Opts: "--rsh=! --remote-path=! --content-from-command! --paths-from-command! --progress --list --stats -v,--verbose"}, true
	case "restic", "rclone", "rustic", "kopia", "duplicity":
		return row{Own: ownTool(readFirst("mount")), Opts: "--password-command=! --stdin-from-command! --sftp-ssh=! --metadata-mapper=! --ssh-options=! --sftp-args=! --rsync-options=! --gpg-binary=! --gpg-options=! --use-scp -o,--option=o -r,--repo= -p,--password-file= --config=", Flags: exact}, true
	case "sshfs":
		return row{Own: ownTool(readSSHFS), Opts: "-o=m -F=! -p= -C -1 -d -f -s -h,--help,-V,--version~"}, true
	case "mosh-server":
		return row{Own: Always("it starts what a client asks for")}, true
	case "check_by_ssh":
		return row{Own: ownTool(readOptions), Opts: "-C,--command=s -o,--ssh-option=o -F,--configfile=! -H,--hostname= -l,--logname= -p,--port= -i,--identity= -t,--timeout= -n,--name= -s,--services= -O,--output= -S? -E? -1 -2 -4 -6 -f -q -v -h,--help,-V,--version~"}, true
	case "iptables", "ip6tables", "iptables-legacy", "iptables-nft", "ebtables", "arptables":
		return row{Opts: "-M,--modprobe=! -A,--append= -I,--insert= -D,--delete= -N= -P= -X? -F? -L? -S? -t,--table= -p,--protocol= -s,--source= -d,--destination= -j,--jump= -g= -i,--in-interface= -o,--out-interface= -m,--match= -n -v -x", Flags: data}, true
	case "modprobe":
		return row{Opts: "-C,--config=! -d,--dirname=! -S,--set-version= -a -r -n -v -q -D -R -c -f"}, true
	case "aria2c":
		return row{Opts: "--on-download-start=! --on-download-pause=! --on-download-stop=! --on-download-complete=! --on-download-error=! --on-bt-download-complete=! --conf-path=! -o,--out= -d,--dir= -i,--input-file= -l,--log= -j= -s= -x= -k= -c,--continue? -q,--quiet?", Why: "this option starts a program, or reads options that do"}, true
	case "curl":
		return row{Opts: "--engine=! -o,--output= -H,--header= -d,--data= -X,--request= -u,--user= -A,--user-agent= -e,--referer= -b,--cookie= -c,--cookie-jar= -F,--form= -T,--upload-file= -x,--proxy= -K,--config= -m,--max-time= -w,--write-out= -E,--cert= -r,--range= -D,--dump-header= -Q,--quote= -C= -t= -U= -Y= -y= -z= -P= -h?", Flags: data | exact}, true
	case "tex", "etex", "pdftex", "xetex", "luatex", "latex", "pdflatex", "xelatex", "lualatex", "platex", "uplatex", "latexmk", "texi2dvi", "texi2pdf":
		return row{Own: ownTool(readTex), Flags: longOnly | runsFiles, Opts: "-shell-escape! -enable-write18! -enable-pipes! -lua=! -fmt= -e=! -r=! -usepretex?! -latex=! -pdflatex=! -xelatex=! -lualatex=! -pv! -pvc! -no-shell-escape -disable-write18 -shell-restricted -interaction= -output-directory= -outdir= -jobname= -help,-version~"}, true
	case "tshark", "wireshark", "rawshark":
		return row{Opts: "-X=! -e= -T= -Y= -r= -w= -i= -f= -R= -c= -a= -b= -s= -o= -z= -d= -F= -E= -N= -t= -u= -S= -y= -B= -C= -K= -H= -h,--help,-v,--version~", Why: "this option loads a script"}, true
	case "visudo", "vipw", "vigr", "sudoedit", "select-editor":
		return row{Own: ownTool(readEditing)}, true
	case "prove":
		return row{Opts: "-e,--exec=c -I= -M=! -P=! -a,--archive= -j,--jobs= --ext= --rc=! --harness=! --formatter=! --source=! --state= --statefile= -s,--shuffle -v,--verbose -r,--recurse -l,--lib -b,--blib -c -f -o -m -q -Q -p -t -T -w -W -D -h,--help,-V,--version~", Flags: runsFiles}, true
	case "rustc", "rustdoc":
		return row{Own: ownTool(readRustc), Flags: runsFiles, Opts: "-C,--codegen=g -Z=z -L= -l= -o= -O -g -W= -A= -D= -F= --crate-type= --crate-name= --edition= --emit= --print= --out-dir= --explain~ --target= --cfg= --extern= --test --test-runtool=! --runtool=! --sysroot=! -v -V,--version,-h,--help~"}, true
	default:
		return row{}, false
	}
}

// readFirst reads programs of which a first word runs what follows it.
func readFirst(starts ...string) func(*toolReader) {
	return func(r *toolReader) {
		for first := true; ; {
			it, ok := r.Next()
			if !ok {
				return
			}
			switch {
			case it.Effect == "o":
				if it.Value.Open {
					r.Out.Maybe = true
				} else if strings.Contains(it.Value.Text, "command") || strings.Contains(it.Value.Text, "program") || strings.Contains(it.Value.Text, "args") {
					r.Refuse("this setting names a program", it.Value.Text)
				}
			case it.Name != "":
				r.Apply(it)
			case first:
				first = false
				for _, s := range starts {
					if it.Word.Text == s {
						r.Refuse("it starts a program", s)
					}
				}
			}
		}
	}
}

// readSSHFS reads sshfs: its settings are its own and ssh's.
func readSSHFS(r *toolReader) {
	for {
		it, ok := r.Next()
		if !ok {
			return
		}
		if it.Effect != "m" {
			if it.Name != "" {
				r.Apply(it)
			}
			continue
		}
		for part := range strings.SplitSeq(it.Value.Text, ",") {
			part = strings.TrimSpace(part)
			if key, _, _ := strings.Cut(part, "="); key == "ssh_command" || key == "sftp_server" || key == "ssh_protocol" || key == "directport" || key == "passive" || key == "slave" {
				r.Refuse("this setting starts a program", part)
				continue
			}
			w := it.Value
			w.Text = part
			r.sshOption(w)
		}
	}
}

// readTex reads TeX: its first line may stand on the command line.
func readTex(r *toolReader) {
	for {
		it, ok := r.Next()
		switch {
		case !ok:
			return
		case it.Name != "":
			r.Apply(it)
		case strings.Contains(it.Word.Text, "write18"), strings.Contains(it.Word.Text, "directlua"), strings.Contains(it.Word.Text, "ShellEscape"), strings.HasPrefix(it.Word.Text, "|"), strings.Contains(it.Word.Text, "{|"), strings.Contains(it.Word.Text, "\"|"):
			r.Refuse("its text starts a program", it.Word.Text)
		}
	}
}

// readEditing reads what starts an editor unless it only looks.
func readEditing(r *toolReader) {
	if r.Name != "visudo" || !r.HasWord("-c", "--check", "-cf", "-cs", "-cq", "-V", "-h") {
		r.Refuse("it starts an editor", r.Name)
	}
}

// readRustc reads rustc: its linker is a program.
func readRustc(r *toolReader) {
	for {
		it, ok := r.Next()
		switch {
		case !ok:
			return
		case it.Effect == "g" || it.Effect == "z":
			key, value, _ := strings.Cut(it.Value.Text, "=")
			key = strings.ReplaceAll(key, "_", "-")
			switch {
			case it.Value.Open:
				r.Out.Maybe = true
			case key == "linker" && (value == "gcc" || value == "cc" || value == "clang" || value == "lld" || value == "rust-lld"):
				w := it.Value
				w.Text = value
				r.Program("rustc linker", w)
			case key == "linker", key == "codegen-backend", key == "llvm-plugins", strings.HasPrefix(key, "link-arg") && (strings.Contains(value, "-B") || strings.Contains(value, "plugin") || strings.Contains(value, "-wrapper") || strings.Contains(value, "-specs") || strings.Contains(value, "fuse-ld=/") || strings.Contains(value, "@")):
				r.Refuse("rustc starts, or loads, what it names", it.Value.Text)
			}
		case it.Name != "":
			r.Apply(it)
		}
	}
}
