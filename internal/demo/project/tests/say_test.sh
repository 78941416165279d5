. lib/say.sh
test "$(say hello world)" = "hello world"
