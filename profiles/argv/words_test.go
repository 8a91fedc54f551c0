package argv_test

import (
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles/argv"
)

// read makes words of a line: "…" ends a word that is known in part, "……" one that
// may be several, "+++" is further words that nobody knows.
func read(line string) ([]argv.Word, bool) {
	var out []argv.Word
	more := false
	for _, f := range strings.Fields(line) {
		switch {
		case f == "+++":
			more = true
		case strings.HasSuffix(f, "……"):
			out = append(out, argv.Word{Text: strings.TrimSuffix(f, "……"), Open: true, Many: true})
		case strings.HasSuffix(f, "…"):
			out = append(out, argv.Word{Text: strings.TrimSuffix(f, "…"), Open: true})
		case f == `""`:
			out = append(out, argv.Known(""))
		default:
			out = append(out, argv.Known(f))
		}
	}
	return out, more
}

type row struct{ pattern, yes, maybe, no string } // commands, one a line

func table() []row {
	return []row{
		{"rm -rf", `rm -rf x
rm -fr x
rm -r -f x
rm x -rf
rm x y -r z -f
rm -Rf x
rm -rfv x
rm -vrf x
rm --recursive --force x
rm --recursive -f x
rm --rec --for x
rm --r --f x
rm -ir --fo x
rm -rf
rm -rf --
rm -rf -- x
/bin/rm -rf x
/usr/bin/rm -fR x
rm -rf ""
rm ./x… -rf
rm -rf ……
rm -rf +++`, `rm … build
rm …… build
rm -r …
rm -f ……
rm -r -… x
rm -r --fo…
rm ./x…… y
rm …… -rf x
rm -r +++
rm +++
rm … -rf`, `rm -r x
rm -r -- x… -f +++
rm -f x
rm -- -rf
rm -r -- -f
rm x -r -- -f
rm -i -r x
rm --recursive x
rm --no-preserve-root -r x
rm ./x…
rm -r ./x…
rm -- …
rm -- ……
rm -r -- ……
rm -r -- +++
rm --dir -v x
rm --interactive=never x`},
		{"rm -rf /", "rm -rf /\nrm -fr //\nrm / -rf\nrm -rf /./\nrm -rf x /\nrm -r -f --no-preserve-root /", "rm -rf …\nrm -rf /…\nrm -rf +++", "rm -rf x\nrm -rf ./\nrm -r /\nrm -rf /tmp\nrm -rf x…"},
		{"mv -f", "mv -Zf a b\nmv --context -f a b", "mv …", "mv -Z a b\nmv -T f b"},
		{"ls -R", "ls -FR\nls -R --classify=auto", "ls …", "ls -F R"},
		{"ls --classify", "ls -F\nls -Fl\nls --classify=auto", "ls …", "ls -l"},
		{"shred -z", "shred -uz x\nshred -z --remove=wipe x", "shred …", "shred -u z"},
		{"tail -f", "tail -f x\ntail -fn 5 x\ntail -qf x\ntail --follow x\ntail --follow=name x", "tail …", "tail -n 5 x\ntail -n f"},
		{"sort -o x", "sort -co x y\nsort --output=x", "sort …", "sort -c o x"},
		{"split -b 1", "split -db 1 x\nsplit -xb1 x", "split …", "split -d b 1"},
		{"sudo -u root", "sudo -Eu root ls\nsudo --preserve-env=A -u root ls", "sudo …", "sudo -E ls"},
		{"od -S", "od -S 5 x\nod --strings x\nod --strings=5 x", "od …", "od -t x x"},
		{"rm -r", "rm -R x\nrm -dr x\nrm --recursive x", "rm …", "rm -f x\nrm -d x"},
		{"find -delete", "find . -name x -delete\nfind -delete\nfind . --delete\nfind / -type f -delete -print\nfind . -exec echo ; -delete\nfind . -exec echo x + -delete",
			"find . …\nfind . -name x -de…\nfind …… -print\nfind . -exec echo …… ; -print", "find . -name delete -print\nfind . -name -delete\nfind . -depth -print\nfind . -exec echo -delete ;\nfind . -path -delete -prune\nfind . -name …"},
		{"find -exec", "find . -exec rm {} ;\nfind . -name x -exec ls {} +", "find . ……", "find . -execdir ls {} ;\nfind . -name -exec"},
		{"chmod 777", "chmod 777 x\nchmod -R 777 x\nchmod 0777 x\nchmod 00777 x\nchmod -v 777 a b", "chmod … x\nchmod 7… x", "chmod 755 x\nchmod 7770 x\nchmod +x x\nchmod -x 775 y\nchmod u…"},
		{"chmod -R 777", "chmod 777 x -R\nchmod --recursive 0777 x\nchmod -fR 777 x", "chmod -R …", "chmod 777 x\nchmod -R 755 x"},
		{"kill -9", "kill -9 1\nkill -KILL 1\nkill -SIGKILL 1\nkill -s KILL 1\nkill -s 9 1\nkill -s SIGKILL 1\nkill --signal KILL 1\nkill --signal=9 1\nkill -n 9 1\nkill -sKILL 1\nkill -kill 1",
			"kill … 1\nkill -… 1\nkill -s … 1", "kill 9\nkill -15 9\nkill -TERM 1\nkill -s TERM 9\nkill -l"},
		{"pkill -9", "pkill -9 x\npkill -KILL x\npkill --signal 9 x\npkill --signal=KILL x\npkill -f -9 x", "pkill …", "pkill x\npkill -f 9\npkill -HUP x"},
		{"killall -KILL", "killall -9 x\nkillall -s 9 x\nkillall -s KILL x", "", "killall x\nkillall -s TERM x"},
		{"dd of=/dev/sda", "dd if=x of=/dev/sda\ndd of=/dev/sda bs=1M\ndd of=/dev/sda", "dd …\ndd of=…\ndd if=x of=/dev/s…", "dd if=/dev/sda of=x\ndd of=/dev/sdb\ndd of=x…"},
		{"git push --force", `git push --force
git push -f
git push origin main --force
git push origin main -f
git push -fu origin main
git push -uf origin main
git -C sub push --force
git -C sub push -f
git --git-dir x push -f
git --git-dir=x -c a.b=c push origin --force
git -p push -f
git --no-pager push origin -f
git push --forc
git push --fo
git push origin +main
git push origin +main:main
git push origin HEAD +x
git push --mirror x
git push -o x -f
git push -ox -f
git push --push-option x -f
git push origin +…
git push origin ./… -f`, `git push origin …
git push ……
git push …
git … --force
git push origin …… --force
git …… push
git push -…
git push --fo…
git +++
git push +++
git push origin +++
git p… -f`, `git push
git push origin main
git push --force-with-lease
git push --force-with-lease origin main
git push --force-if-includes
git push -u origin main
git push --no-force-with-lease
git push -- -f
git push origin main:x
git push -o --force
git push -o -f origin
git push --push-option --force x
git commit -m --force
git commit -m push --force
git log --force push
git -C push status --force
git -c push.force=1 status
git checkout -f
git fetch --force
git add push --force
git a… --force
git push origin main…
git push origin HEAD:…
git add +++
git stash push -f`},
		{"git clean -fd", "git clean -fd\ngit clean -df\ngit clean -xdf\ngit clean -f -d\ngit clean --force -d\ngit clean --for -dx\ngit clean -ffd\ngit -C x clean -fxd", "git clean …\ngit clean -f …", "git clean -nd\ngit clean -f\ngit clean -d\ngit clean -n -x\ngit clean -f -e -d\ngit clean -f -- -d\ngit status -fd"},
		{"git reset --hard", "git reset --hard\ngit reset --hard HEAD~1\ngit reset HEAD~1 --hard\ngit reset --har\ngit reset -q --hard", "git reset …", "git reset\ngit reset --soft HEAD\ngit reset -- --hard\ngit reset HEAD x\ngit commit -m --hard\ngit reset ./…"},
		{"git checkout .", "git checkout .\ngit checkout -- .\ngit checkout -f .\ngit checkout -q -- . x", "git checkout …\ngit checkout …… x", "git checkout main\ngit checkout -b .\ngit checkout ./x\ngit checkout main -- .\ngit checkout m…"},
		{"git branch -D", "git branch -D x\ngit branch -d -f x\ngit branch -df x\ngit branch --delete --force x\ngit branch x -D\ngit branch -fd x", "git branch …", "git branch -d x\ngit branch -f x\ngit branch --delete x\ngit branch -m x y\ngit branch"},
		{"git commit --amend", "git commit --amend\ngit commit -a --amend --no-edit\ngit commit --am\ngit commit -m x --amend", "git commit …", "git commit -m --amend\ngit commit -am x\ngit commit -a -m amend\ngit commit --message --amend\ngit commit -F --amend"},
		{"git commit --no-verify", "git commit -n -m x\ngit commit -nm x\ngit commit --no-verify\ngit commit --no-ver -m x\ngit commit -anm x", "", "git commit -m -n\ngit commit -m x -- -n\ngit commit -mn"},
		{"git stash drop", "git stash drop\ngit stash drop stash@{0}\ngit stash -q drop", "git stash …", "git stash\ngit stash push -m drop\ngit stash pop\ngit stash list"},
		{"git tag -d", "git tag -d v1\ngit tag --delete v1\ngit tag --del v1", "", "git tag v1\ngit tag -a v1 -m -d\ngit tag -l"},
		{"git add", "git stage x\ngit add x", "", "git status"},
		{"git push --delete", "git push --delete origin x\ngit push -d origin x\ngit push origin :x", "git push origin :…", "git push origin x:y\ngit push origin :"},
		{"git -c", "git -c a.b=c status\ngit -ca.b=c status", "git …", "git status\ngit -C x status"},
		{"git config --global", "git config --global a.b c\ngit config --glob a.b c", "git config …", "git config a.b c\ngit config a.b --local"},
		{"docker run --privileged", "docker run --privileged x\ndocker container run --privileged x\ndocker -H x run --privileged y\ndocker --context c run -it --privileged y\ndocker run --privileged=true x\ndocker run -v a:b --privileged x",
			"docker run …\ndocker …… x", "docker run x\ndocker ps\ndocker run -e --privileged x\ndocker run --name --privileged x\ndocker build --privileged x\ndocker image ls"},
		{"docker rm -f", "docker rm -f x\ndocker rm --force x\ndocker container rm -f x\ndocker container remove -f x\ndocker rm -vf x", "", "docker rm x\ndocker rmi -f x\ndocker build -f x .\ndocker logs -f x"},
		{"docker rmi", "docker rmi x\ndocker image rm x\ndocker image remove x", "", "docker image ls\ndocker rm x"},
		{"docker container", "docker container run x\ndocker container ls", "", "docker image ls"},
		{"docker run -v /:/host", "docker run -v /:/host x\ndocker run --volume=/:/host x\ndocker run --volume /:/host x\ndocker run -itv /:/host x", "docker run -v … x", "docker run -v a:b x\ndocker run x /:/host"},
		{"docker run --network host", "docker run --network host x\ndocker run --network=host x\ndocker run --net=host x\ndocker run --net host x", "", "docker run --network bridge x\ndocker run x host"},
		{"docker system prune", "docker system prune -af", "docker system …", "docker system df\ndocker image prune"},
		{"kubectl delete", "kubectl delete pod x\nkubectl -n prod delete pod x\nkubectl --context=c delete ns x\nkubectl --namespace prod delete -f x\nkubectl --as x delete y", "kubectl … x\nkubectl -n …… get", "kubectl get pods\nkubectl get delete\nkubectl -n delete get pods\nkubectl get pods -l delete"},
		{"kubectl delete namespace", "kubectl delete ns x\nkubectl delete namespaces x\nkubectl delete -n x namespace y\nkubectl delete Namespace x\nkubectl delete ns/x", "", "kubectl delete pod x\nkubectl delete pod namespace"},
		{"kubectl apply -f", "kubectl apply -f x\nkubectl apply --filename x\nkubectl apply --filename=x\nkubectl apply -fx", "", "kubectl apply -k x\nkubectl delete -f x"},
		{"npm publish", "npm publish\nnpm publish --access public\nnpm --registry x publish\nnpm publ\nnpm -w a publish", "npm …", "npm pack\nnpm run publish\nnpm install publish\nnpm test"},
		{"npm install -g", "npm i -g x\nnpm install x --global\nnpm add -g x\nnpm i x --location=global\nnpm i --location global x\nnpm --global install x\nnpm install --glob x\nnpm isntall -g x", "npm i …", "npm i x\nnpm i x --location=user\nnpm i -D x\nnpm ci\nnpm uninstall -g x"},
		{"npm run deploy", "npm run deploy\nnpm run-script deploy -- --x\nnpm run -s deploy", "npm run …", "npm run build\nnpm test deploy"},
		{"yarn add", "yarn add x", "", "yarn remove x\nyarn"},
		{"pip install", "pip install x\npip -q install x\npip --proxy p install -r r.txt", "pip …", "pip list\npip download install\npip show install"},
		{"cargo publish", "cargo publish\ncargo +nightly publish\ncargo --color always publish\ncargo -q publish", "cargo …", "cargo build\ncargo +stable test publish"},
		{"cargo run", "cargo r\ncargo run --release", "", "cargo b\ncargo rm x"},
		{"go run", "go run .\ngo -C x run .\ngo run -race .", "go …", "go build ./run\ngo test -run run\ngo vet ./..."},
		{"go test -exec", "go test -exec x ./...\ngo test --exec x\ngo test -exec=x ./...", "go test …", "go test ./...\ngo test -run -exec ./..."},
		{"terraform destroy", "terraform destroy\nterraform -chdir=x destroy -auto-approve", "terraform …", "terraform plan\nterraform plan -out destroy"},
		{"terraform apply -auto-approve", "terraform apply -auto-approve\nterraform apply --auto-approve\nterraform -chdir=x apply x -auto-approve", "terraform apply …", "terraform apply x\nterraform plan -auto-approve"},
		{"helm uninstall", "helm delete x\nhelm -n y uninstall x\nhelm un x\nhelm del x", "", "helm list\nhelm upgrade uninstall x"},
		{"systemctl stop", "systemctl stop x\nsystemctl --user stop x\nsystemctl -q stop x\nsystemctl -H h stop x", "systemctl …", "systemctl status stop\nsystemctl restart x"},
		{"apt-get install -y", "apt-get install -y x\napt-get -y install x\napt-get install x --yes\napt-get install --assume-yes x\napt-get -qy install x", "", "apt-get install x\napt-get update -y\napt-get -o y install x"},
		{"aws s3 rm", "aws s3 rm s3://x\naws --profile p s3 rm s3://x\naws --region r --output json s3 rm x", "aws s3 …", "aws s3 ls\naws s3 cp rm x\naws s3api rm"},
		{"gh pr merge", "gh pr merge 1\ngh -R a/b pr merge 1\ngh pr --repo a/b merge", "gh pr …", "gh pr view merge\ngh issue list"},
		{"curl -X POST", "curl -X POST x\ncurl -XPOST x\ncurl --request POST x\ncurl --request=POST x\ncurl -sXPOST x\ncurl x -sX POST", "curl -X … x", "curl -X GET x\ncurl x POST\ncurl -d POST x"},
		{"curl -k", "curl -k x\ncurl --insecure x\ncurl -sk x", "", "curl -o k x\ncurl -ok x\ncurl x"},
		{"curl -o", "curl -o x y\ncurl --output x y\ncurl -so x y\ncurl -ox y", "", "curl y\ncurl -O y\ncurl -d -o y"},
		{"curl", "curl\ncurl x\n/usr/bin/curl x", "", "curlx\nCURL x\nwget curl"},
		{"/usr/bin/curl", "curl x\n/opt/curl x", "", "wget x"},
		{"wget -O", "wget -O x y\nwget --output-document=x y\nwget -qO- y", "", "wget -o x y\nwget y"},
		{"sed -i", "sed -i s/a/b/ x\nsed -i.bak s/a/b/ x\nsed --in-place s/a/b/ x\nsed --in-place=.b s x\nsed -ni p x\nsed -Ei s x\nsed s/a/b/ x -i", "sed …", "sed -n p x\nsed -e -i x\nsed -e s/a/b/ x\nsed -f -i x"},
		{"tar -x", "tar xf a\ntar -xf a\ntar --extract -f a\ntar --get -f a\ntar -f a -x\ntar xzf a", "tar …", "tar cf x y\ntar -cf x y\ntar tf x\ntar -f -x c"},
		{"tar --to-command", "tar xf a --to-command=x\ntar xf a --to-command x\ntar xf a --to-com x", "", "tar xf a\ntar cf --to-command a"},
		{"scp -r", "scp -r a b\nscp -qr a b", "", "scp a b\nscp -i -r a b"},
		{"rsync --delete", "rsync -a --delete a b\nrsync --del a b\nrsync -av a b --delete", "", "rsync -a a b\nrsync --delete-excluded a b\nrsync -e --delete a b"},
		{"rsync -r", "rsync -a x y\nrsync -rv x y\nrsync --recursive x y\nrsync --archive x y", "", "rsync -v x y"},
		{"cp -R", "cp -a x y\ncp -r x y\ncp --recursive x y\ncp --archive x y", "", "cp x y\ncp -p x y\ncp -t -R x"},
		{"mv -f", "mv -f x y\nmv --force x y", "", "mv x y\nmv -t -f x"},
		{"ln -s", "ln -s x y\nln --symbolic x y\nln -sf x y", "", "ln x y"},
		{"xargs rm", "xargs rm\nxargs -n1 rm -f\nxargs -0 rm\nxargs -I {} rm {}\nxargs -n 1 rm", "", "xargs echo rm\nxargs -I rm echo\nxargs grep rm"},
		{"sudo rm -rf", "sudo rm -rf x\nsudo rm -fr x\nsudo -u root rm --recursive --force x\nsudo rm x -r -f", "", "sudo rm -r x\nsudo ls -rf\nsudo -u rm ls"},
		{"make install", "make install\nmake -C x install\nmake -j8 all install\nmake DESTDIR=x install", "make …", "make\nmake -C install\nmake test"},
		{"ssh -R", "ssh -R 1:2:3 x\nssh x -R 1:2:3\nssh -NR 1 x", "", "ssh x\nssh -i -R x"},
		{"sort -o", "sort -o x y\nsort --output=x y\nsort y -ox", "", "sort x\nsort -k o x\nsort -t -o x"},
		{"grep -r", "grep -r x\ngrep -rn x\ngrep --recursive x", "", "grep x y\ngrep -e -r y\ngrep -R x y"},
		{"tool -rf", "tool -rf\ntool -fr x\ntool -r -f\ntool x -rvf", "tool …", "tool -r x\ntool -- -rf\ntool rf"},
		{"tool --opt", "tool --opt\ntool --op\ntool x --opt=1", "tool …", "tool opt\ntool --option\ntool -o"},
		{"tool sub", "tool sub\ntool -x sub\ntool --y=1 a sub", "tool …", "tool other\ntool subs"},
		{"echo -n", "echo -n x", "", "echo x"},
		{"time", "time x", "", "timeout x"},
	}
}

func TestMatch(t *testing.T) {
	rows := 0
	for _, r := range table() {
		pattern := strings.Fields(r.pattern)
		for want, lines := range map[argv.Tri]string{argv.Yes: r.yes, argv.Maybe: r.maybe, argv.No: r.no} {
			for line := range strings.Lines(lines) {
				if line = strings.TrimSpace(line); line == "" {
					continue
				}
				rows++
				ws, more := read(line)
				got := argv.No
				if w := argv.Split(ws, more); argv.Base(ws[0].Text) == argv.Base(pattern[0]) {
					got = w.Match(pattern[1:])
				}
				if got != want {
					t.Errorf("%-28s | %-40s: got %s, want %s", r.pattern, line, got, want)
				}
			}
		}
	}
	if rows < 400 {
		t.Errorf("%d rows", rows)
	}
}
