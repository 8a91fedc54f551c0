set -euo pipefail
git init -q -b main notes && cd notes
git config user.name Agent && git config user.email agent@example.com
for word in seal ring guest; do
  printf 'A note on the %s.\n' "$word" > "$word.md"
  git add "$word.md" && git commit -q -m "docs: $word"
done
echo "notes: $(find . -name '*.md' | wc -l), commits: $(git log --oneline | wc -l)"
grep -l note -- *.md | sort
