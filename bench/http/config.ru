# Answers `/KIND/KILOBYTES` as `bench/contenders/src/respond.rs` does: the same parts and header fields.

FOLDER = ENV.fetch('BODIES')
WHOLE = File.binread(File.join(FOLDER, '1000')).freeze
PARTS = Array.new(1000) { |part| WHOLE.byteslice(part * 1000, 1000).freeze }.freeze
HEADERS = (1..25).to_h { |number| ["x-my-header-#{number}", 'the value of a header field'] }.freeze

# A body without a known length.
Stream = Struct.new(:parts) do
  def each(&block)
    parts.each(&block)
  end
end

# A body that is read from a file as it is sent.
FromFile = Struct.new(:to_path) do
  def each
    File.open(to_path, 'rb') do |file|
      while (part = file.read(64 << 10))
        yield part
      end
    end
  end
end

run(lambda do |env|
  _, kind, digits = env['PATH_INFO'].split('/')
  kilobytes = digits.to_i
  sized = HEADERS.merge('content-length' => (kilobytes * 1000).to_s)
  case kind
  when 'array' then [200, sized, PARTS.first(kilobytes)]
  when 'chunked' then [200, HEADERS.dup, Stream.new(PARTS.first(kilobytes))]
  when 'string' then [200, sized, [WHOLE.byteslice(0, kilobytes * 1000)]]
  else [200, sized, FromFile.new(File.join(FOLDER, kilobytes.to_s))]
  end
end)
