# For a tap of Homebrew on Linux: packaging/release.sh fills in addresses and SHA-256; the version is in the address.
class Headroom < Formula
  desc "Studies how many attention heads, of what width, a Transformer needs"
  homepage "@HOME@"
  url "@URL@"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on "cli11" => :build
  depends_on "meson" => :build
  depends_on "ninja" => :build
  depends_on "nlohmann-json" => :build
  depends_on "pkgconf" => :build
  depends_on "boost"
  depends_on "clp"
  depends_on "curl"
  depends_on "fmt"
  depends_on "libmicrohttpd"
  depends_on :linux
  depends_on "muparser"
  depends_on "onednn"
  depends_on "openssl@3"
  depends_on "pcre2"
  depends_on "sentencepiece"
  depends_on "sqlite"
  depends_on "tomlplusplus"
  depends_on "utf8proc"
  depends_on "yaml-cpp"
  depends_on "zlib"

  def install
    args = %w[-Ddefault_library=shared -Dcuda=disabled -Dmpi=disabled -Dtests=false]
    system "meson", "setup", "build", *args, *std_meson_args
    system "meson", "compile", "-C", "build", "--verbose"
    system "meson", "install", "-C", "build", "--no-rebuild"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/headroom --version")
    system bin/"headroom", "run", "ngram-tradeoff", "--profile", "smoke", "--quiet"
    assert_path_exists testpath/"runs/ngram-tradeoff/smoke/report.html"
  end
end
