set -eu
cd "$1"
export HOME=$1 GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com
git init -q one && cd one && echo x >f && git add f && git commit -qm first && echo y >>f && git diff --stat >/dev/null
git commit -qam second && git log --oneline | cat >/dev/null && git status --short && git gc -q && cd ..
git clone -q one two && cd two && git branch topic && git checkout -q topic && git show HEAD:f | grep -q y && git grep -q x && git blame f >/dev/null
git stash list && git tag v1 && git archive HEAD | tar t >/dev/null && git fsck --no-progress && echo "git works"
