package argv

// fileOptions are those of the programs that work on files.
func fileOptions(name string) string {
	switch name {
	case "rm":
		return "f|force i I interactive? one-file-system no-preserve-root preserve-root? r|R|recursive d|dir v|verbose help version"
	case "cp":
		return "a|archive>R attributes-only backup? b copy-contents d f|force i|interactive H l|link L|dereference n|no-clobber P|no-dereference p preserve? no-preserve= parents R|r|recursive reflink? remove-destination sparse= strip-trailing-slashes s|symbolic-link S|suffix= t|target-directory= T|no-target-directory u|update v|verbose x|one-file-system Z|context? help version"
	case "mv":
		return "backup? b f|force i|interactive n|no-clobber strip-trailing-slashes S|suffix= t|target-directory= T|no-target-directory u|update v|verbose Z|context? help version"
	case "ln":
		return "backup? b d|F|directory f|force i|interactive L|logical n|no-dereference P|physical r|relative s|symbolic S|suffix= t|target-directory= T|no-target-directory v|verbose help version"
	case "mkdir":
		return "m|mode= p|parents v|verbose Z context? help version"
	case "rmdir":
		return "ignore-fail-on-non-empty p|parents v|verbose help version"
	case "chmod":
		return "c|changes f|silent|quiet v|verbose no-preserve-root preserve-root reference= R|recursive help version r w x X s t u g o a"
	case "chown":
		return "c|changes f|silent|quiet v|verbose dereference h|no-dereference from= no-preserve-root preserve-root reference= R|recursive H L P help version"
	case "chgrp":
		return "c|changes f|silent|quiet v|verbose dereference h|no-dereference no-preserve-root preserve-root reference= R|recursive H L P help version"
	case "ls":
		return "a|all A|almost-all author b|escape block-size= B|ignore-backups c C color? d|directory D|dired f F|classify? file-type format= full-time g group-directories-first G|no-group h|human-readable si H|dereference-command-line dereference-command-line-symlink-to-dir hide= hyperlink? indicator-style= i|inode I|ignore= k|kibibytes l L|dereference m n|numeric-uid-gid N|literal o p= q|hide-control-chars show-control-chars Q|quote-name quoting-style= r|reverse R|recursive s|size S sort= time= time-style= t T|tabsize= u U v w|width= x X Z|context zero 1 help version"
	case "cat":
		return "A|show-all b|number-nonblank e E|show-ends n|number s|squeeze-blank t T|show-tabs u v|show-nonprinting help version"
	case "head":
		return "c|bytes= n|lines= q|quiet|silent v|verbose z|zero-terminated help version"
	case "tail":
		return "c|bytes= f|follow? F n|lines= max-unchanged-stats= pid= q|quiet|silent retry s|sleep-interval= v|verbose z|zero-terminated help version"
	case "sort":
		return "b|ignore-leading-blanks d|dictionary-order f|ignore-case g|general-numeric-sort i|ignore-nonprinting M|month-sort h|human-numeric-sort n|numeric-sort R|random-sort random-source= r|reverse sort= V|version-sort batch-size= c|check? C compress-program= debug files0-from= k|key= m|merge o|output= s|stable S|buffer-size= t|field-separator= T|temporary-directory= parallel= u|unique z|zero-terminated help version"
	case "uniq":
		return "c|count d|repeated D all-repeated? f|skip-fields= group? i|ignore-case s|skip-chars= u|unique z|zero-terminated w|check-chars= help version"
	case "wc":
		return "c|bytes m|chars l|lines files0-from= L|max-line-length w|words help version"
	case "cut":
		return "b|bytes= c|characters= d|delimiter= f|fields= n complement s|only-delimited output-delimiter= z|zero-terminated help version M"
	case "tr":
		return "c|C|complement d|delete s|squeeze-repeats t|truncate-set1 help version"
	case "tee":
		return "a|append i|ignore-interrupts p output-error? help version"
	case "touch":
		return "a c|no-create d|date= f h|no-dereference m r|reference= t= time= help version"
	case "stat":
		return "L|dereference f|file-system cached= c|format= printf= t|terse help version"
	case "du":
		return "0|null a|all apparent-size B|block-size= b|bytes c|total D|dereference-args d|max-depth= files0-from= H h|human-readable inodes k L|dereference l|count-links m P|no-dereference S|separate-dirs si s|summarize t|threshold= time time-style= X|exclude-from= exclude= x|one-file-system help version"
	case "df":
		return "a|all B|block-size= h|human-readable H|si i|inodes k l|local no-sync output? P|portability sync total t|type= T|print-type x|exclude-type= v help version"
	case "date":
		return "d|date= debug f|file= I|iso-8601? resolution R|rfc-email rfc-3339= r|reference= s|set= u|utc|universal help version"
	case "truncate":
		return "c|no-create o|io-blocks r|reference= s|size= help version"
	case "shred":
		return "f|force n|iterations= random-source= s|size= u|remove? v|verbose x|exact z|zero help version"
	case "install":
		return "backup? b c C|compare d|directory D g|group= m|mode= o|owner= p|preserve-timestamps s|strip strip-program= S|suffix= t|target-directory= T|no-target-directory v|verbose preserve-context Z context? help version"
	case "mktemp":
		return "d|directory u|dry-run q|quiet suffix= p= tmpdir? t help version"
	case "split":
		return "a|suffix-length= additional-suffix= b|bytes= C|line-bytes= d|numeric-suffixes? x|hex-suffixes? e|elide-empty-files filter= l|lines= n|number= t|separator= u|unbuffered verbose help version"
	case "dd":
		return "help version"
	case "seq":
		return "f|format= s|separator= w|equal-width help version"
	case "paste":
		return "d|delimiters= s|serial z|zero-terminated help version"
	case "join":
		return "a= e= i|ignore-case j= o= t= v= 1= 2= check-order nocheck-order header z|zero-terminated help version"
	case "comm":
		return "1 2 3 check-order nocheck-order output-delimiter= total z|zero-terminated help version"
	case "nl":
		return "b|body-numbering= d|section-delimiter= f|footer-numbering= h|header-numbering= i|line-increment= l|join-blank-lines= n|number-format= p|no-renumber s|number-separator= v|starting-line-number= w|number-width= help version"
	case "tac":
		return "b|before r|regex s|separator= help version"
	case "od":
		return "A|address-radix= endian= j|skip-bytes= N|read-bytes= S|strings? t|format= v|output-duplicates w|width? traditional help version a b c d f i l o s x"
	case "base64":
		return "d|decode i|ignore-garbage w|wrap= help version"
	case "readlink":
		return "f|canonicalize e|canonicalize-existing m|canonicalize-missing n|no-newline q|quiet s|silent v|verbose z|zero help version"
	case "realpath":
		return "e|canonicalize-existing m|canonicalize-missing L|logical P|physical q|quiet relative-to= relative-base= s|strip|no-symlinks z|zero help version"
	default:
		return ""
	}
}

// toolOptions are those of further programs without sub-commands.
func toolOptions(name string) string {
	switch name {
	case "grep", "egrep", "fgrep", "zgrep":
		return "E|extended-regexp F|fixed-strings G|basic-regexp P|perl-regexp e|regexp= f|file= i|ignore-case no-ignore-case w|word-regexp x|line-regexp z|null-data s|no-messages v|invert-match V|version help m|max-count= b|byte-offset n|line-number line-buffered H|with-filename h|no-filename label= o|only-matching q|quiet|silent binary-files= a|text I d|directories= D|devices= r|recursive R|dereference-recursive include= exclude= exclude-from= exclude-dir= L|files-without-match l|files-with-matches c|count T|initial-tab Z|null B|before-context= A|after-context= C|context= group-separator= no-group-separator color? colour? U|binary"
	case "sed", "gsed":
		return "n|quiet|silent debug e|expression= f|file= follow-symlinks i|in-place? l|line-length= posix E|r|regexp-extended s|separate sandbox u|unbuffered z|null-data help version"
	case "find":
		return "H L P D= O? amin= anewer= atime= cmin= cnewer= context= ctime= fprint= fprint0= fls= fprintf= fstype= gid= group= ilname= iname= inum= ipath= iregex= iwholename= links= lname= maxdepth= mindepth= mmin= mtime= name= newer= newerXY= newermt= newerct= newerat= newermm= path= perm= printf= regex= regextype= samefile= size= type= uid= used= user= wholename= xtype= files0-from= exec; execdir; ok; okdir; delete depth d daystart follow ls mount xdev noleaf warn nowarn print print0 prune quit empty executable false true nogroup nouser not a and o or readable writable ignore_readdir_race noignore_readdir_race"
	case "xargs":
		return "0|null a|arg-file= d|delimiter= E= e|eof? I= i|replace? L|max-lines= l? n|max-args= o|open-tty P|max-procs= p|interactive process-slot-var= r|no-run-if-empty s|max-chars= show-limits t|verbose x|exit help version"
	case "tar", "gtar":
		return "A|catenate|concatenate c|create delete d|diff|compare r|append test-label t|list u|update x|extract|get check-device g|listed-incremental= G|incremental hole-detection= ignore-failed-read level= no-check-device no-seek n|seek occurrence? sparse-version= S|sparse add-file= C|directory= exclude= exclude-backups exclude-caches exclude-caches-all exclude-caches-under exclude-ignore= exclude-ignore-recursive= exclude-tag= exclude-tag-all= exclude-tag-under= exclude-vcs exclude-vcs-ignores no-null no-recursion no-unquote no-verbatim-files-from null recursion T|files-from= unquote verbatim-files-from X|exclude-from= anchored ignore-case no-anchored no-ignore-case no-wildcards no-wildcards-match-slash wildcards wildcards-match-slash keep-directory-symlink keep-newer-files k|keep-old-files no-overwrite-dir one-top-level? overwrite overwrite-dir recursive-unlink remove-files skip-old-files U|unlink-first W|verify ignore-command-error no-ignore-command-error O|to-stdout to-command= atime-preserve? clamp-mtime delay-directory-restore group= group-map= mode= mtime= m|touch no-delay-directory-restore no-same-owner no-same-permissions numeric-owner owner= owner-map= p|preserve-permissions|same-permissions same-owner sort= s|preserve-order|same-order acls no-acls no-selinux no-xattrs selinux xattrs xattrs-exclude= xattrs-include= force-local f|file= F|info-script|new-volume-script= L|tape-length= M|multi-volume rmt-command= rsh-command= volno-file= b|blocking-factor= B|read-full-records i|ignore-zeros record-size= H|format= old-archive|portability pax-option= posix V|label= a|auto-compress I|use-compress-program= j|bzip2 J|xz lzip lzma lzop no-auto-compress zstd z|gzip|gunzip|ungzip Z|compress|uncompress backup? hard-dereference h|dereference K|starting-file= newer-mtime= N|newer|after-date= one-file-system P|absolute-names suffix= strip-components= transform|xform= checkpoint? checkpoint-action= full-time index-file= l|check-links no-quote-chars= quote-chars= quoting-style= R|block-number show-defaults show-omitted-dirs show-snapshot-field-ranges show-transformed-names|show-stored-names totals? utc v|verbose warning= w|interactive|confirmation o help restrict usage version"
	case "gzip", "gunzip", "zcat":
		return "c|stdout|to-stdout d|decompress|uncompress f|force h|help k|keep l|list L|license n|no-name N|name q|quiet r|recursive rsyncable S|suffix= synchronous t|test v|verbose V|version 1|fast 9|best"
	case "xz", "unxz", "xzcat":
		return "z|compress d|decompress t|test l|list k|keep f|force c|stdout|to-stdout 0 e|extreme T|threads= q|quiet v|verbose h|help H|long-help V|version  format= check= memory="
	case "zip":
		return "f|freshen d|delete r|recurse-paths 0 1 9 q|quiet c x|exclude= i|include= F|fix A T|test TT= X D y|symlinks e|encrypt m|move j|junk-paths u|update b= n= P|password= s= t= o v unzip-command= tt="
	case "unzip":
		return "p f l t u v x= n o j U C X q qq d= L a P= K"
	case "curl":
		return "d|data= data-raw= data-binary= data-urlencode= json= f|fail h|help i|include I|head o|output= O|remote-name remote-name-all s|silent S|show-error T|upload-file= u|user= A|user-agent= v|verbose V|version X|request= H|header= L|location location-trusted k|insecure F|form= form-string= K|config= x|proxy= U|proxy-user= b|cookie= c|cookie-jar= e|referer= m|max-time= connect-timeout= w|write-out= r|range= C|continue-at= z|time-cond= E|cert= key= cacert= capath= G|get g|globoff J|remote-header-name R|remote-time n|netrc netrc-file= N|no-buffer p|proxytunnel P|ftp-port= Q|quote= q|disable t|telnet-option= y|speed-time= Y|speed-limit= Z|parallel a|append B|use-ascii D|dump-header= 0|http1.0 1|tlsv1 2|sslv2 3|sslv3 4|ipv4 6|ipv6 http1.1 http2 compressed create-dirs output-dir= retry= retry-delay= retry-max-time= resolve= connect-to= interface= unix-socket= abstract-unix-socket= url= socks5= socks4= socks5-hostname= noproxy= proto= proto-redir= limit-rate= max-filesize= max-redirs= fail-with-body no-progress-meter trace= trace-ascii= stderr= oauth2-bearer= tls-max= ciphers= pass= dns-servers= doh-url= hsts= alt-svc= aws-sigv4= libcurl= engine= krb="
	case "wget":
		return "V|version h|help b|background e|execute= o|output-file= a|append-output= d|debug q|quiet v|verbose nv|no-verbose i|input-file= F|force-html B|base= config= t|tries= O|output-document= nc|no-clobber c|continue N|timestamping S|server-response T|timeout= w|wait= Q|quota= 4|inet4-only 6|inet6-only x|force-directories P|directory-prefix= E|adjust-extension U|user-agent= user= password= use-askpass= header= post-data= post-file= method= body-data= body-file= no-check-certificate ca-certificate= certificate= private-key= r|recursive l|level= k|convert-links K|backup-converted m|mirror p|page-requisites A|accept= R|reject= D|domains= H|span-hosts L|relative I|include-directories= X|exclude-directories= np|no-parent spider limit-rate= referer= load-cookies= save-cookies= content-disposition no-proxy progress= show-progress max-redirect= waitretry= start-pos= delete-after save-headers"
	case "ssh":
		return "4 6 A a C f G g K k M N n q s T t V v X x Y y B= b= c= D= E= e= F= I= i= J= L= l= m= O= o= P= p= Q= R= S= W= w="
	case "scp":
		return "3 4 6 A B C O p q R r s T v c= D= F= i= J= l= o= P= S= X="
	case "rsync":
		return "v|verbose q|quiet a|archive>r r|recursive R|relative b|backup backup-dir= suffix= u|update inplace append l|links L|copy-links H|hard-links p|perms E|executability A|acls X|xattrs o|owner g|group devices specials D t|times O|omit-dir-times super S|sparse n|dry-run W|whole-file x|one-file-system B|block-size= e|rsh= rsync-path= existing ignore-existing remove-source-files del|delete|delete-before delete-during delete-delay delete-after delete-excluded ignore-errors force max-delete= max-size= min-size= partial partial-dir= delay-updates m|prune-empty-dirs numeric-ids timeout= contimeout= I|ignore-times size-only c|checksum T|temp-dir= y|fuzzy compare-dest= copy-dest= link-dest= z|compress compress-level= C|cvs-exclude f|filter= F exclude= exclude-from= include= include-from= files-from= 0|from0 s|protect-args port= sockopts= blocking-io stats 8|8-bit-output h|human-readable progress P i|itemize-changes out-format= log-file= log-file-format= password-file= list-only bwlimit= write-batch= only-write-batch= read-batch= protocol= iconv= checksum-seed= 4|ipv4 6|ipv6 M|remote-option= chmod= chown= usermap= groupmap= info= debug="
	case "make", "gmake":
		return "b|m B|always-make C|directory= d debug? e|environment-overrides E|eval= f|file|makefile= h|help i|ignore-errors I|include-dir= j|jobs? k|keep-going l|load-average|max-load? L|check-symlink-times n|just-print|dry-run|recon o|old-file|assume-old= O|output-sync? p|print-data-base q|question r|no-builtin-rules R|no-builtin-variables s|silent|quiet no-silent S|no-keep-going|stop t|touch trace v|version w|print-directory no-print-directory W|what-if|new-file|assume-new= warn-undefined-variables"
	case "diff":
		return "normal q|brief s|report-identical-files c C= context? u U= unified? e|ed n|rcs y|side-by-side W|width= left-column suppress-common-lines p|show-c-function F|show-function-line= label= t|expand-tabs T|initial-tab tabsize= suppress-blank-empty l|paginate r|recursive no-dereference N|new-file unidirectional-new-file ignore-file-name-case no-ignore-file-name-case x|exclude= X|exclude-from= S|starting-file= from-file= to-file= i|ignore-case E|ignore-tab-expansion Z|ignore-trailing-space b|ignore-space-change w|ignore-all-space B|ignore-blank-lines I|ignore-matching-lines= a|text strip-trailing-cr D|ifdef= line-format= d|minimal horizon-lines= speed-large-files color? palette= help v|version"
	case "jq":
		return "c|compact-output n|null-input e|exit-status s|slurp r|raw-output j|join-output R|raw-input C|color-output M|monochrome-output S|sort-keys a|ascii-output tab indent= arg= argjson= slurpfile= rawfile= args jsonargs f|from-file= L= stream seq h|help"
	case "rg":
		return "A|after-context= auto-hybrid-regex B|before-context= binary block-buffered b|byte-offset s|case-sensitive color= colors= column C|context= context-separator= c|count count-matches crlf debug dfa-size-limit= E|encoding= engine= field-context-separator= field-match-separator= f|file= files l|files-with-matches files-without-match F|fixed-strings L|follow g|glob= glob-case-insensitive h|help heading hidden iglob= i|ignore-case ignore-file= ignore-file-case-insensitive include-zero v|invert-match json line-buffered n|line-number x|line-regexp M|max-columns= max-columns-preview m|max-count= max-depth= max-filesize= mmap U|multiline multiline-dotall no-config I|no-filename no-heading no-ignore no-ignore-dot no-ignore-exclude no-ignore-files no-ignore-global no-ignore-messages no-ignore-parent no-ignore-vcs N|no-line-number no-messages no-mmap no-pcre2-unicode no-require-git no-unicode 0|null null-data one-file-system o|only-matching passthru path-separator= P|pcre2 pcre2-version pre= pre-glob= p|pretty q|quiet regex-size-limit= e|regexp= r|replace= z|search-zip S|smart-case sort= sortr= stats a|text j|threads= trim t|type= type-add= type-clear= type-list T|type-not= u|unrestricted V|version vimgrep H|with-filename w|word-regexp"
	case "ps":
		return "A e a d N T r x f F j l L m w C|command= G|Group= g= p|pid= s= t|tty= U|User= u|user= o|O|format= ppid= sort= no-headers"
	case "kill":
		return "s|n|signal= q|queue= l|list L|table h V"
	case "pkill", "pgrep":
		return "signal= q|queue= e|echo c|count f|full g|pgroup= G|group= i|ignore-case n|newest o|oldest O|older= P|parent= s|session= t|terminal= u|euid= U|uid= x|exact F|pidfile= L|logpidfile r|runstates= A|ignore-ancestors cgroup= ns= nslist= h V"
	case "killall":
		return "e|exact I|ignore-case g|process-group y|younger-than o|older-than i|interactive l|list q|quiet r|regexp s|signal= u|user= v|verbose V|version w|wait n|ns= Z|context="
	case "apt", "apt-get", "aptitude", "apt-cache":
		return "y|yes|assume-yes assume-no q|quiet s|simulate|just-print|dry-run|recon|no-act d|download-only f|fix-broken m|ignore-missing|fix-missing u|show-upgraded V|verbose-versions a|host-architecture= P|build-profiles= b|compile|build ignore-hold allow-downgrades allow-remove-essential allow-change-held-packages force-yes print-uris purge reinstall list-cleanup t|target-release|default-release= trivial-only no-remove auto-remove|autoremove only-source no-install-recommends install-recommends install-suggests no-install-suggests allow-unauthenticated allow-insecure-repositories allow-releaseinfo-change c|config-file= o|option= no-download no-upgrade only-upgrade full l|list"
	case "dpkg":
		return "i|install unpack A configure triggers-only r|remove P|purge V|verify get-selections? set-selections clear-selections update-avail? merge-avail? clear-avail forget-old-unavail s|status p|print-avail L|listfiles l|list S|search C yet-to-unpack predep-package add-architecture= remove-architecture= print-architecture print-foreign-architectures assert-help compare-versions= force-help help version admindir= root= instdir= pre-invoke= post-invoke= path-exclude= path-include= O E G B triggers verify-format= no-pager no-debsig no-act D status-fd= status-logger= log= ignore-depends= abort-after= robot"
	case "systemctl":
		return "t|type= state= p|property= a|all r|recursive reverse after before l|full value show-types job-mode= show-transaction i|ignore-inhibitors check-inhibitors= dry-run q|quiet no-block wait user system no-wall no-reload no-legend no-pager no-ask-password kill-who|kill-whom= s|signal= what= f|force message= global root= image= runtime preset-mode= n|lines= o|output= firmware-setup plain H|host= M|machine= now h|help version failed legend? timestamp= mkdir marked"
	case "sh", "bash", "dash", "ash", "ksh", "zsh", "rbash", "mksh":
		return "c s i l|login r|restricted D v|verbose x e u n a b f h k m p t B C E H P T o= O= norc noprofile posix rcfile|init-file= noediting debugger dump-strings"
	case "sudo", "doas":
		return "A|askpass b|background C|close-from= c|login-class= D|chdir= E|preserve-env? e|edit g|group= H|set-home h|host= i|login K|remove-timestamp k|reset-timestamp l|list n|non-interactive P|preserve-groups p|prompt= R|chroot= r|role= S|stdin s|shell T|command-timeout= t|type= U|other-user= u|user= V|version v|validate B|bell"
	case "env":
		return "i|ignore-environment 0|null u|unset= C|chdir= S|split-string= block-signal? default-signal? ignore-signal? list-signal-handling v|debug help version"
	case "timeout":
		return "preserve-status foreground k|kill-after= s|signal= v|verbose help version"
	case "nice":
		return "n|adjustment= help version"
	case "stdbuf":
		return "i|input= o|output= e|error= help version"
	case "crontab":
		return "e l r i u= s c= n="
	case "sqlite3":
		return "A= append ascii bail batch box column cmd= csv deserialize echo init= header noheader help html interactive json line list lookaside= markdown memtrace mmap= newline= nofollow nonce= nullvalue= quote readonly safe separator= stats table tabs unsafe-testing version vfs= zip"
	case "node":
		return "e|eval= p|print= c|check i|interactive r|require= import= loader|experimental-loader= input-type= inspect? inspect-brk? v|version h|help max-old-space-size? test watch C|conditions= env-file= title= trace-warnings no-warnings enable-source-maps run="
	case "python3", "python":
		return "b B c= d E h i I m= O OO P q s S u v V W= x X= check-hash-based-pycs= help version"
	default:
		return ""
	}
}
