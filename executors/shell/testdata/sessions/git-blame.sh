# Who wrote which line.
export GIT_AUTHOR_DATE="2026-01-02T03:04:05Z" GIT_COMMITTER_DATE="2026-01-02T03:04:05Z"
git init -q -b main
printf 'one\ntwo\nthree\n' > list.txt
printf '# Title\n\nSome text.\n' > README.md
git add -A
git -c user.name=Agent -c user.email=agent@example.com commit -q -m "first"

git blame -s --abbrev=1 list.txt | cut -d')' -f2
git rev-list --count HEAD
git rev-parse --abbrev-ref HEAD
