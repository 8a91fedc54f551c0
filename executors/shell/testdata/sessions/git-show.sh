# A file as it was.
export GIT_AUTHOR_DATE="2026-01-02T03:04:05Z" GIT_COMMITTER_DATE="2026-01-02T03:04:05Z"
git init -q -b main
printf 'one\ntwo\nthree\n' > list.txt
printf '# Title\n\nSome text.\n' > README.md
git add -A
git -c user.name=Agent -c user.email=agent@example.com commit -q -m "first"

echo changed > list.txt
git show HEAD:list.txt
git show --stat --format=%s HEAD | head -n 3
git restore list.txt
cat list.txt
