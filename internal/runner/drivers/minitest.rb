# Runs minitest and writes what became of each test to the file named first.
report = File.open(ARGV.shift, "a")
report.sync = true

Minitest.extensions << "ask"
Minitest.define_singleton_method(:plugin_ask_init) { |_options| reporter << AskReporter.new(report) }
require "minitest/autorun"

files = Dir["{test,tests,spec,.}/**/{test_*,*_test}.rb"].map { |f| File.expand_path(f) }.uniq.sort
files.reject { |f| f.include?("/vendor/") || f.include?("/node_modules/") || f.end_with?("helper.rb") }.each do |file|
  begin
    require file
  rescue Exception => e
    raise if e.is_a?(SystemExit) || e.is_a?(Interrupt)
    report.write(JSON.generate({ name: "", group: file, outcome: "broken", text: "#{e.class}: #{e.message}" }) + "\n")
  end
end
ARGV.clear
