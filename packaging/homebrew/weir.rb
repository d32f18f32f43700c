# A release fills in the address of the archive and its checksum.
class Weir < Formula
  desc "Shows what happens to a web server's traffic"
  homepage "https://example.org/weir"
  url "https://example.org/weir/weir-0.1.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    # The archive has no repository; the tag of the release stands for the commit.
    ENV["WEIR_COMMIT"] = "v#{version}"
    system "cargo", "install", *std_cargo_args(path: "crates/cli")
    generate_completions_from_executable(bin/"weir", "completions")
    man1.mkpath
    system bin/"weir", "man", "--folder", man1
  end

  test do
    (testpath/"access.log").write <<~LOG
      192.0.2.1 - - [17/Dec/2025:09:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "-"
    LOG
    assert_equal "1  200\n", shell_output("#{bin}/weir count --by status access.log")
  end
end
