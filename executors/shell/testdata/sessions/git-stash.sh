# Changes put aside and taken back.
export GIT_AUTHOR_DATE="2026-01-02T03:04:05Z" GIT_COMMITTER_DATE="2026-01-02T03:04:05Z"
git init -q -b main
printf 'one\ntwo\nthree\n' > list.txt
printf '# Title\n\nSome text.\n' > README.md
git add -A
git -c user.name=Agent -c user.email=agent@example.com commit -q -m "first"

echo wip >> list.txt
git -c user.name=Agent -c user.email=agent@example.com stash -q
git status --short | wc -l
git stash list | wc -l
git checkout -q stash@{0} -- list.txt
tail -n 1 list.txt
