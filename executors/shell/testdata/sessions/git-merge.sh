# A branch is merged.
export GIT_AUTHOR_DATE="2026-01-02T03:04:05Z" GIT_COMMITTER_DATE="2026-01-02T03:04:05Z"
git init -q -b main
printf 'one\ntwo\nthree\n' > list.txt
printf '# Title\n\nSome text.\n' > README.md
git add -A
git -c user.name=Agent -c user.email=agent@example.com commit -q -m "first"

git checkout -q -b side
echo side > side.txt && git add . && git -c user.name=Agent -c user.email=agent@example.com commit -q -m side
git checkout -q main
git merge -q --ff-only side
git log --format=%s
