# Runs minitest and writes what became of each test to the file named first.
require "json"
report = File.open(ARGV.shift, "a")
report.sync = true
gem "minitest"
require "minitest"

class AskReporter < Minitest::AbstractReporter
  def initialize(out)
    super()
    @out = out
  end

  def record(result)
    outcome = result.skipped? ? "skipped" : result.passed? ? "passed" : "failed"
    name = result.respond_to?(:klass) ? result.klass : result.class.name
    text = outcome == "failed" ? result.failures.map { |f| f.message.to_s }.join("\n") : ""
    @out.write(JSON.generate({ name: "#{name}##{result.name}", group: name, outcome: outcome, text: text[-16000..] || text }) + "\n")
  end

  def passed?
    true
  end
end

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
