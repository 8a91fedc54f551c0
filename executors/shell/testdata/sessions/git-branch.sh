# A branch, a change on it, and back.
export GIT_AUTHOR_DATE="2026-01-02T03:04:05Z" GIT_COMMITTER_DATE="2026-01-02T03:04:05Z"
git init -q -b main
printf 'one\ntwo\nthree\n' > list.txt
printf '# Title\n\nSome text.\n' > README.md
git add -A
git -c user.name=Agent -c user.email=agent@example.com commit -q -m "first"

git checkout -q -b feature
echo x > feature.txt
git add feature.txt
git -c user.name=Agent -c user.email=agent@example.com commit -q -m "feature"
git checkout -q main
ls
git branch --format='%(refname:short)'
git diff --name-status main feature
