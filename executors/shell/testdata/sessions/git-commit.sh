# A second commit, and the log of both.
export GIT_AUTHOR_DATE="2026-01-02T03:04:05Z" GIT_COMMITTER_DATE="2026-01-02T03:04:05Z"
git init -q -b main
printf 'one\ntwo\nthree\n' > list.txt
printf '# Title\n\nSome text.\n' > README.md
git add -A
git -c user.name=Agent -c user.email=agent@example.com commit -q -m "first"

echo more >> README.md
git add README.md
git -c user.name=Agent -c user.email=agent@example.com commit -q -m "second: more"
git log --format='%s by %an'
git log --oneline | wc -l
