# What became of each test of minitest, one JSON object a line.
require "json"
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

