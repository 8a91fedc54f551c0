# A merge that does not go through.
export GIT_AUTHOR_DATE="2026-01-02T03:04:05Z" GIT_COMMITTER_DATE="2026-01-02T03:04:05Z"
git init -q -b main
printf 'one\ntwo\nthree\n' > list.txt
printf '# Title\n\nSome text.\n' > README.md
git add -A
git -c user.name=Agent -c user.email=agent@example.com commit -q -m "first"

git checkout -q -b side
echo side > list.txt; git add .; git -c user.name=Agent -c user.email=agent@example.com commit -q -m side
git checkout -q main
echo main > list.txt; git add .; git -c user.name=Agent -c user.email=agent@example.com commit -q -m main
if git -c user.name=Agent -c user.email=agent@example.com merge -q side > merge.log 2>&1; then echo merged; else echo "conflict: $?"; fi
git diff --name-only --diff-filter=U
git merge --abort
cat list.txt
