// This file owns the table of tools of which some options start programs, and
// of those that reach other hosts and containers. [Of] asks it.

package programs

// toolRows are tools of which some options start a program.
func toolRows(name string) (row, bool) {
	switch name {
	case "tar", "gtar", "bsdtar", "star":
		return row{Own: ownTool(readTar)}, true
	case "zip":
		return row{Own: ownTool(readZip)}, true
	case "cpio":
		return row{Opts: "--rsh-command=! -F,--file=r -I= -O= -E= -D= -C= -H= -M= -R=", Own: ownTool(readCpio)}, true
	case "split", "csplit":
		return row{Opts: "--filter=s -a,--suffix-length= -b,--bytes= -C,--line-bytes= -l,--lines= -n,--number= -d -x -t,--separator= -e -u --additional-suffix= -f,--prefix= -k -s -z --numeric-suffixes? --hex-suffixes? --verbose --elide-empty-files --unbuffered", Flags: data}, true
	case "sort", "gsort":
		return row{Opts: "--compress-program=p -b -d -f -g -i -M -h -n -R -r -V -c -C -m -s -u -z -k,--key= -o,--output= -S,--buffer-size= -t,--field-separator= -T,--temporary-directory= --batch-size= --files0-from= --parallel= --random-source= --sort= --check? --debug --reverse --unique --stable --numeric-sort --human-numeric-sort --version-sort --ignore-case --ignore-leading-blanks", Flags: data}, true
	case "rg":
		return row{Opts: "--pre=p --hostname-bin=p --pre-glob= -z,--search-zip -e,--regexp= -f,--file= -A,--after-context= -B,--before-context= -C,--context= -g,--glob= --iglob= -t,--type= -T,--type-not= --type-add= -m,--max-count= -M,--max-columns= -d,--max-depth= -r,--replace= -j,--threads= -E,--encoding= --color= --colors= --sort= --sortr= --path-separator= --context-separator= --field-match-separator= --ignore-file= --engine= --generate= --max-filesize= --dfa-size-limit= --regex-size-limit=", Flags: data | exact}, true
	case "ag", "ack", "ugrep", "ug":
		return row{Opts: "--pager=s --pager-cmd=s --view?! --filter=c --filter-magic-label= -e= -f= -A= -B= -C= -m= -g= -G=! -t= -T=", Flags: data | exact}, true
	case "less", "more", "most", "zless", "zmore", "bzless", "xzless", "pg":
		return row{Own: ownTool(readPager), Opts: "-k,--lesskey-file=! --lesskey-src=! --lesskey-content=! -o,--log-file= -O,--LOG-FILE= -p,--pattern= -P,--prompt= -t,--tag= -T,--tag-file=! -b,--buffers= -h= -j,--jump-target= -x,--tabs= -y= -z,--window= -D,--color= -#,--shift= --rscroll= --mouse --help,--version~ -V~", Flags: data}, true
	case "bat", "batcat", "delta":
		return row{Opts: "--pager=s --diff-args= -l,--language= -H= -r,--line-range= --theme= --style= --color= --paging= --tabs= --wrap= -m,--map-syntax= --terminal-width= --file-name= --lessopen!", Flags: data | exact}, true
	case "man", "apropos", "whatis":
		return row{Opts: "-P,--pager=s -H,--html?! -C,--config-file=! -X?! -Z -T? -t -p,--preprocessor=! -l,--local-file -K,--global-apropos -k,--apropos -f,--whatis -w,--where -L,--locale= -m,--systems= -M,--manpath=! -S,-s,--sections= -e,--extension= -i -I -R,--recode= -r,--prompt= -E,--encoding= -a -u -W -7 --warnings? -h,--help,-V,--version~"}, true
	case "info":
		return row{Opts: "--restore=! --dribble= --init-file=! -o,--output= -f,--file= -n,--node= -d,--directory= -k,--apropos="}, true
	case "pandoc":
		return row{Opts: "-F,--filter=p -L,--lua-filter=! --pdf-engine=p --pdf-engine-opt= -d,--defaults=! -o,--output= -f,-r,--from,--read= -t,-w,--to,--write= --template= --data-dir=! -M,--metadata= -V,--variable= -H= -B= -A= -T= -c,--css= -D= --extract-media= --bibliography= --csl= --syntax-definition= --resource-path= --toc-depth= --wrap= --columns=", Flags: exact}, true
	case "gpg", "gpg2", "gpgv":
		return row{Opts: "--exec-path=! --agent-program=! --dirmngr-program=! --keyboxd-program=! --photo-viewer=! --options=! --gpgconf-test --passphrase-file= -o,--output= -r,--recipient= -u,--local-user= --homedir=! --load-extension=! --edit-key -d,--decrypt -e,--encrypt -s,--sign -v,--verify"}, true
	case "tcpdump", "windump":
		return row{Opts: "-z=p -w= -r= -i,--interface= -c= -C= -G= -F= -s= -W= -Z= -E= -B= -j= -m=! -M= -T= -Q= -y= -V= --time-stamp-precision= --count --print", Flags: exact, Rest: operands}, true
	case "nmap":
		return row{Own: ownTool(readNmap)}, true
	case "wget", "wget2":
		return row{Own: ownTool(readWget), Opts: "--use-askpass?! -e,--execute=e --config=! -O,--output-document= -o,--output-file= -a,--append-output= -i,--input-file= -B,--base= -t,--tries= -T,--timeout= -P,--directory-prefix= -U,--user-agent= -w,--wait= -Q,--quota= -A,--accept= -R,--reject= -D,--domains= -I= -X= -l,--level= --header= --post-data= --post-file= --user= --password= --limit-rate= --load-cookies= --save-cookies= --referer= --method= --body-data= --bind-address= --dns-timeout= --connect-timeout= --read-timeout= --waitretry= --ca-certificate= --certificate= --private-key= --cut-dirs= --default-page= --restrict-file-names= --max-redirect= --use-server-timestamps", Flags: data}, true
	case "openssl":
		return row{Opts: "-engine=! -keyform= -provider-path=! -provider= -engine_impl -pre=! -post=! -load! -in= -out= -config=! -rand= -conf=! -macopt= -passin= -passout=", Flags: longOnly, Rest: operands}, true
	case "install", "ginstall":
		return row{Opts: "--strip-program=p -s,--strip -g,--group= -m,--mode= -o,--owner= -t,--target-directory= -S,--suffix= -b -C -d -D -p -T -v", Flags: data}, true
	case "sdiff", "diff3":
		return row{Opts: "--diff-program=p -o,--output= -w,--width= -I,--ignore-matching-lines= --label= -L=", Flags: data}, true
	case "patch":
		return row{Opts: "-e,--ed! -p,--strip= -i,--input= -o,--output= -d,--directory= -D,--ifdef= -B,--prefix= -Y= -z,--suffix= -r,--reject-file= -g,--get=! -F,--fuzz= -V= --read-only= --quoting-style= --reject-format="}, true
	case "mail", "mailx", "mutt", "s-nail", "sendmail", "procmail", "formail", "fetchmail", "lynx", "w3m", "elinks", "links", "irssi", "weechat", "ranger", "mc", "nnn", "vifm", "lf", "fzf", "sk", "dialog":
		return rowsInteractive(name)
	case "gs", "ghostscript", "ps2pdf":
		return row{Own: ownTool(readMarks("%pipe%", "-dNOSAFER", "-dDELAYSAFER"))}, true
	case "convert", "magick", "identify", "mogrify", "montage", "composite", "gm":
		return row{Own: ownTool(readMarks("ephemeral:", "msl:", "mvg:", "|", "popen:", "pango:", "show:", "win:", "x:"))}, true
	case "dpkg", "dpkg-deb", "dpkg-source", "dpkg-query":
		return row{Opts: "--pre-invoke=! --post-invoke=! --status-logger=! --admindir= --root=! --instdir=! -i,--install -r,--remove -P,--purge -l,--list -L,--listfiles -s,--status -D=", Flags: runsFiles}, true
	case "rpm", "rpmbuild":
		return row{Opts: "--pipe=s -E,--eval=! -D,--define=! --macros=! --rcfile=! --load=! --rpmcmd=! -q -a -i -U -e -l -p,--package= --dbpath= -r,--root=", Flags: runsFiles}, true
	case "logrotate", "ctags", "exuberant-ctags", "universal-ctags":
		return row{Opts: "--options=! --etags-include= --_xformat= -l,--log= --mail=! -m=! -s,--state= -f,--force -d,--debug -v", Flags: exact}, true
	case "ip":
		return row{Own: ownTool(readIP)}, true
	case "iptables-restore", "ip6tables-restore":
		return row{Opts: "-M,--modprobe=! -c,--counters -t,--test -n,--noflush -v,--verbose -w? -T,--table="}, true
	case "ar", "nm", "ranlib":
		return row{Opts: "--plugin=! --target=", Flags: exact}, true
	case "ld", "ld.bfd", "ld.gold", "ld.lld":
		return row{Opts: "-plugin=! -load=! -dynamic-linker= -o= -T= -m= -e= -rpath=", Flags: longOnly}, true
	case "crash", "dosbox", "ghidra", "radare2", "r2", "rizin", "frida":
		return row{Own: Always("it runs commands of its own language")}, true
	case "systemctl", "journalctl", "loginctl", "service", "timedatectl":
		return row{Opts: "-H,--host=! -M,--machine=! -p,--property= -n,--lines= -o,--output= -t,--type= -u,--unit= -S,--since= -U,--until= --state= --root=!", Own: ownTool(readSystemctl)}, true
	default:
		return rareTool(name)
	}
}

// rowsInteractive are programs that people sit in front of.
func rowsInteractive(name string) (row, bool) {
	switch name {
	case "fzf", "sk":
		return row{Opts: "--preview=s --bind=! --execute=! --history= -q,--query= -f,--filter= -d,--delimiter= -n,--nth= --with-nth= --with-shell=! --listen?! -c,--cmd=s --height= --prompt= --header= --color= --layout= --border?", Flags: exact}, true
	case "lynx", "w3m", "elinks", "links", "dialog":
		return row{Opts: "-dump -source -listonly -nolist -width= -useragent= -term= -base= -cookie_file= -o=! -config=! -cfg=! -lss=! -exec! -eval=! -remote=! -cmd_script=! -editor=! -dump-width= -cols= -T= -I= -help,-version~", Flags: longOnly}, true
	default:
		return row{Own: Always("it is made for people and starts what they ask it to; nothing of it can be read")}, true
	}
}
