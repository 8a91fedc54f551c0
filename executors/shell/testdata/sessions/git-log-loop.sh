# A loop over commits.
export GIT_AUTHOR_DATE="2026-01-02T03:04:05Z" GIT_COMMITTER_DATE="2026-01-02T03:04:05Z"
git init -q -b main
printf 'one\ntwo\nthree\n' > list.txt
printf '# Title\n\nSome text.\n' > README.md
git add -A
git -c user.name=Agent -c user.email=agent@example.com commit -q -m "first"

for i in 1 2 3; do
  echo "$i" > "file$i"
  git add "file$i"
  git -c user.name=Agent -c user.email=agent@example.com commit -q -m "add file$i"
done
git log --format=%s --reverse | while read -r subject; do
  echo "- $subject"
done
