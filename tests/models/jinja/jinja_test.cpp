// Chat templates: rendered as transformers renders them (make_rendered.py), Python's meaning of single expressions, and
// what a stranger's template may not do.
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/generation/chat_template.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"
#include "tests/support/folder.h"

namespace headroom::models::jinja {
namespace {

using Json = nlohmann::ordered_json;
using testing::contains;
using testing::error_of;

const std::string folder = testing::source_root() + std::string("/tests/models/jinja/");

Text rendered(const std::string& source, const Json& variables, int64_t work = int64_t{1} << 26) {
  Limits limits(work);
  Variables all;
  for (const auto& [name, value] : variables.items()) all.emplace_back(name, from_json(value, limits));
  return Template(source).render(all, limits);
}

std::string text(const std::string& source, const Json& variables = Json::object()) {
  return rendered(source, variables).bytes;
}

std::string refusal(const std::string& source, const Json& variables = Json::object()) {
  return error_of([&] { rendered(source, variables); });
}

}  // namespace

TEST_CASE("templates of twenty-two families give the texts of transformers", "[jinja]") {
  const Json all = Json::parse(testing::read_bytes(folder + "rendered.json"));
  REQUIRE(all["cases"].size() >= 500);
  for (const Json& example : all["cases"]) {
    const std::string name = example[0], conversation = example[1];
    INFO(example.dump());
    Json variables = all["settings"][example[4].get<size_t>()];
    variables.update({{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"documents", nullptr}});
    variables["messages"] = all["conversations"][conversation];
    variables["tools"] = example[2] == true ? all["tools"] : Json();
    variables["add_generation_prompt"] = example[3];
    const std::string source = testing::read_bytes(folder + "templates/" + name + ".jinja");
    if (example[5].is_null()) CHECK_THAT(refusal(source, variables), contains("line "));
    else CHECK(text(source, variables) == example[5]);
  }
}

// For tests/peers/templates.py: what each template of the file gives, or that it is refused, in its place.
TEST_CASE("templates of HEADROOM_TEMPLATES", "[.][templates]") {
  const char* const path = std::getenv("HEADROOM_TEMPLATES");
  REQUIRE(path != nullptr);
  const Json given = Json::parse(testing::read_bytes(path));
  Json out = Json::array();
  for (const Json& source : given["templates"]) {
    std::string made;
    const std::string refused = error_of([&] { made = text(source, given["variables"]); });
    out.push_back({refused.empty(), refused.empty() ? made : refused});
  }
  std::ofstream(path) << out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

TEST_CASE("an expression has Python's meaning", "[jinja]") {
  // Each beside what Jinja2 3.1 prints.
  const std::vector<std::pair<std::string, std::string>> cases{
      {"{{ '0x1f' | int }} {{ '0x1f' | float }} {{ 'nan(1)' | float(2.5) }} {{ ' 1.5e1 ' | int }}", "0 0.0 2.5 15"},
      {"{{ 7 | round }} {{ 7 | round(0, 'ceil') }} {{ 0.15 | round(1) }} {{ 2.5 | round }} {{ 1250 | round(-2) }}",
       "7 7.0 0.1 2.0 1200"},
      {"{{ 12345678901234 % 0.1 }} {{ -7.5 // 2 }} {{ -7.5 % 2 }} {{ -0.0 }} {{ +true }} {{ -0.1 is odd }}",
       "0.09931467715146106 -4.0 0.5 -0.0 1 False"},
      {"{{ 'x' if [] | select else 'y' }}{{ 'x' if [] | select | list else 'y' }}{{ {} | items is sequence }}",
       "xyFalse"},
      {"{% for i in 'ab' %}{{ loop.depth }}{{ loop.depth0 }}{% endfor %} {{ 'ß' | upper }} {{ 'ßa'.title() }}",
       "1010 SS Ssa"},
      {"{{ '0x1f' | int(base=16) }}{{ '12' | int(0, 8) }}{{ 'z' | int(7, 8) }}", "31107"},
      {"{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 1 / 2 }} {{ 2 ** 10 }}", "3 -4 2 -2 0.5 1024"},
      {"{{ 1e22 }} {{ 0.1 + 0.2 }} {{ 5.0 }} {{ 1e-5 }}", "1e+22 0.30000000000000004 5.0 1e-05"},
      {"{{ 1 < 2 < 3 }}{{ 'a' in 'cat' }}{{ 9 not in [1] }}{{ 1 == 1.0 }}", "TrueTrueTrueTrue"},
      {"{{ [1, 'it\\'s', none, {'x': (1, 2)}, (1,)] }}", "[1, \"it's\", None, {'x': (1, 2)}, (1,)]"},
      {"{{ 'héllo'[1] }}{{ 'héllo'[::-1] }}{{ 'héllo'[-3:] }}{{ 'héllo'|length }}", "éolléhllo5"},
      {"{{ 'a,b,,c'.split(',') }}{{ ' a b  c '.split(none, 1) }}{{ 'a,b,c'.rsplit(',', 1) }}",
       "['a', 'b', '', 'c']['a', 'b  c ']['a,b', 'c']"},
      {"{{ -3|abs }}{{ 10 - 3 - 2 }}{{ 2 + 3 * 4 }}{{ 'a' ~ 1 ~ none }}{{ not 1 == 2 }}", "3514a1NoneTrue"},
      {"{{ 'x' if false }}{{ 'a' if 0 else 'b' if 0 else 'c' }}{{ '' or 'z' }}{{ 1 and 2 }}", "cz2"},
      {"{{ missing }}{{ missing is defined }}{{ missing|default('d') }}{{ {}.a|default('e') }}{{ ''|d('f', true) }}",
       "Falsedef"},
      {"{{ {'b': 1, 'a': [true, 2.5]}|tojson }}{{ {'b': 'é\"\\n'}|tojson(indent=1) }}",
       "{\"b\": 1, \"a\": [true, 2.5]}{\n \"b\": \"é\\\"\\n\"\n}"},
      {"{{ '🙂é'|tojson(ensure_ascii=true) }}{{ [1, {}]|tojson(separators=(',', ':')) }}",
       "\"\\ud83d\\ude42\\u00e9\"[1,{}]"},
      {"{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}", "231"},
      {"{% set n = namespace(x=1) %}{% for i in [1, 2] %}{% set n.x = n.x + i %}{% endfor %}{{ n.x }}", "4"},
      {"{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}{{ v }}{{ loop.last }}{% endfor %}", "a1Falseb2True"},
      {"{% for x in range(9) if x is odd %}{% if x == 5 %}{% continue %}{% elif x == 7 %}{% break %}{% endif %}{{ x "
       "}}of{{ "
       "loop.length }} {% else %}none{% endfor %}",
       "1of4 3of4 "},
      {"{% macro m(a, b=2) %}<{{ a }}{{ b }}>{% endmacro %}{{ m(1) }}{{ m(b=3, a=4) }}{{ m() }}", "<12><43><2>"},
      {"{% set x | upper %} a{{ 1 }} {% endset %}[{{ x }}]{% filter trim %} b {% endfilter %}", "[ A1 ]b"},
      {"a\n  {% if true %}  \n b\n  {% endif %}\nc\n", "a\n  \n b\nc"},
      {"a {%- if true %} b {%- endif +%}\nc {#- x -#}  d", "a b\ncd"},
      {"{% raw %}{{ x }}{% endraw %}{{ '{{' }}{# gone #}", "{{ x }}{{"},
      {"{{ [3, 1, 2]|sort|join('-') }}{{ ['b', 'A']|sort|first }}{{ [{'k': 1}, {'j': 2}]|selectattr('k')|list }}",
       "1-2-3A[{'k': 1}]"},
      {"{{ [{'k': 'v'}]|map(attribute='k')|join }}{{ ['a']|map('upper')|list }}{{ {'b': 1, 'a': 2}|dictsort }}",
       "v['A'][('a', 2), ('b', 1)]"},
      {"{{ '{} {x}'.format(1, x=2) }}{{ 'x\\ny'|indent(2) }}{{ 'ab'.replace('', '-') }}{{ 'o-k (x) \\'s'|title }}",
       "1 2x\n  y-a-b-O-K (X) 's"},
      {"{{ 'a\\tb\\x41\\u00e9\\q' }}{{ 'con' 'cat' }}{{ {'a': {'b': {}}} }}", "a\tbAé\\qconcat{'a': {'b': {}}}"}};
  for (const auto& [source, expected] : cases) {
    INFO(source);
    CHECK(text(source) == expected);
  }
  CHECK(text("{{ strftime_now('%Y') }}").size() == 4);
}

TEST_CASE("what Python would refuse names the line", "[jinja]") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"\n\n{{ missing.x }}", "line 3: missing is undefined and has no 'x'"},
      {"{{ a.b.c }}", "line 1: a is undefined"},
      {"{{ {'a': 1}.b.c }}", "'b' of a dict is undefined"},
      {"x\n{{ 1 + 'a' }}", "line 2: an int + a str has no meaning"},
      {"{{ raise_exception('no\\nway') }}", "the template refuses: 'no\\nway'"},
      {"{{ 1 | nothing }}", "the filter 'nothing' is not supported"},
      {"{{ 1 is nothing }}", "the test 'nothing' is not supported"},
      {"{{ 'a'.nothing() }}", "a str has no nothing()"},
      {"{% include 'x' %}", "{% 'include' %} is not supported"},
      {"{% if true %}", "{% endif %} is missing"},
      {"{% endif %}", "{% endif %} has no beginning"},
      {"{{ 'a }}", "a text in quotes has no end"},
      {"{{ (1 }}", "'}' closes nothing"},
      {"{{ 1 1 }}", "expected '}}', found '1'"},
      {"{{ }}", "expected an expression, found '}}'"},
      {"{{ ? }}", "'?' has no place"},
      {"{# a", "a comment has no end"},
      {"{{ 9223372036854775807 + 1 }}", "is too large"},
      {"{{ 99999999999999999999 }}", "is too large"},
      {"{{ -9223372036854775807 - 1 }}{{ (-9223372036854775807 - 1) // -1 }}", "is too large"},
      {"{{ 1 // 0 }}", "1 // 0"},
      {"{% for x in 5 %}{% endfor %}", "an int has no items"},
      {"{% set a, b = [1] %}", "1 values for 2 names"},
      {"{% set x.y = 1 %}", "x, which is undefined, is no namespace"},
      {"{% set x = 1 %}{% set x.y = 1 %}", "no namespace"},
      {"{{ '\\xZZ' }}", "\\x wants 2 digits"},
      {"{{ '\\ud800' }}", "names no character"},
      {"{{ 'x' | trim('x', 1) }}", "trim was given an argument that it does not take"},
      {"{{ [1] | sort(key='a') }}", "sort was given an argument"},
      {"{{ 1 is even(2) }}", "is even was given an argument"},
      {"{{ 'a'.find('a', 1) }}", "find() was given an argument"},
      {"{{ [1].count(1, 2) }}", "count() was given an argument"},
      {"{{ range(1, to=2) }}", "range() was given an argument"},
      {"{{ '1' | int(base=1) }}", "a base of 1"},
      {"{% break %}", "outside a loop"}};
  for (const auto& [source, message] : cases) {
    INFO(source);
    CHECK_THAT(refusal(source), contains(message));
  }
}

TEST_CASE("a template is stopped before it takes much time or memory", "[jinja]") {
  const auto nested = [](const std::string& open, const std::string& middle, const std::string& close, int n) {
    std::string source;
    for (int i = 0; i < n; ++i) source += open;
    source += middle;
    for (int i = 0; i < n; ++i) source += close;
    return source;
  };
  const std::string spent = "takes too long, or writes too much";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}", spent},
      {"{{ range(9999999999) }}", spent},
      {"{{ 'a' * 999999999999 }}", spent},
      {"{{ ['a'] * 99999999 }}", spent},
      {"{% set n = namespace(x='ab') %}{% for a in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}", spent},
      {"{% set n = namespace(x='ab') %}{% for a in range(99) %}{% set n.x = n.x.replace('a', n.x) %}{% endfor %}",
       spent},
      {"{% set n = namespace(x=[]) %}{% for a in range(999) %}{% set n.x = [n.x, n.x] %}{% endfor %}",
       "more than 100 deep"},
      {"{% set n = namespace(x=[1]) %}{% for a in range(90) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}", spent},
      {"{% set n = namespace(x=[1]) %}{% for a in range(90) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x == n.x }}",
       spent},
      {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "more than 1000 deep"},
      {"{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}", "more than 1000 deep"},
      {nested("{{ ", nested("(", "1", ")", 5000), " }}", 1), "more than 100 deep"},
      {nested("{% if 1 %}", "", "{% endif %}", 5000), "more than 100 deep"},
      {"{{ " + nested("not ", "1", "", 5000) + " }}", "more than 100 deep"},
      {"{{ 1" + nested(" + 1", "", "", 5000) + " }}", "more than 500 parts"},
      {"{{ a" + nested(".b", "", "", 5000) + " }}", "more than 500 parts"},
      {"{{ ' '|indent(9999999) }}", "a width of 9999999"},
      {"{{ [[]]|tojson(indent=9999) }}", "an indent of 9999"},
      {std::string(size_t{2} << 20, ' '), "at most 1048576 are read"},
      {"\xff", "byte 0 is not UTF-8"}};
  for (const auto& [source, message] : cases) {
    INFO(source.substr(0, 80));
    CHECK_THAT(refusal(source), contains(message));
  }
  // A namespace that holds itself, a loop that outlives its list, a step beyond every list.
  CHECK(text("{% set n = namespace() %}{% set n.n = n %}{% set n.l = [n] %}{{ n.n.n.l|length }}") == "1");
  CHECK(text("{% set n = namespace() %}{% for x in [1] %}{% set n.l = loop %}{% endfor %}{{ n.l.length }}") == "0");
  CHECK(text("{{ [1, 2][::9223372036854775807] }}{{ [1, 2][-9223372036854775807:] }}") == "[1][1, 2]");
}

TEST_CASE("each byte is marked by who wrote it", "[jinja]") {
  const Json message = {{"c", "Ab <x>\n"}};
  const auto marks = [&](const std::string& source) {
    const Text out = rendered(source, message);
    REQUIRE(out.bytes.size() == out.marks.size());
    std::string shown;
    for (size_t i = 0; i < out.bytes.size(); ++i) shown += out.marks[i] != 0 ? out.bytes[i] : '.';
    return shown;
  };
  CHECK(marks("<x>{{ c }}<x>") == "...Ab <x>\n...");
  CHECK(marks("{{ '<x>' + c|trim + '</x>' }}") == "...Ab <x>....");
  CHECK(marks("{{ c.split(' ')[1] }}{{ c[:2] }}{{ c|upper }}") == "<x>\nAbAB <X>\n");
  CHECK(marks("{{ c.replace('b', 'b-b') }}") == "A... <x>\n");
  CHECK(marks("{{ c|tojson }}{{ [c] }}") == ".Ab <x>\\n...Ab <x>\\n..");
  CHECK(marks("{{ '%'.join([c, c[0]]) }}{{ '{}!'.format(c[0]) }}") == "Ab <x>\n.AA.");
  CHECK(marks("{% set d %}({{ c[0] }}){% endset %}{{ d }}{% for k in c %}{{ k }}{% endfor %}") == ".A.Ab <x>\n");
}

TEST_CASE("a conversation is rendered with the model's own template", "[jinja]") {
  const std::vector<ChatMessage> two{{"system", "S"}, {"user", "U"}};
  ChatTemplate thinking(
      "{{ bos_token }}{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}{{ depth }}{{ eos_token }}");
  CHECK(thinking.render(two, "<s>", "</s>").bytes == "<s>system:S;user:U;</s>");
  thinking.set({{"depth", 3}});
  CHECK(thinking.render(two, "", "").bytes == "system:S;user:U;3");
  // Where a text is passed over, the contents are lists.
  const ChatTemplate parts("{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endfor %}");
  CHECK(parts.render(two, "", "").bytes == "SU");
  CHECK_THAT(error_of([&] { ChatTemplate("{{ messages[0].content }}").render(two, "", ""); }),
             contains("leaves out what the last message says"));
  CHECK(ChatTemplate("{{ messages[0].content }}").render({{"user", "a"}, {"user", " "}}, "", "").bytes == "a");
  CHECK_THAT(error_of([] { ChatTemplate(""); }), contains("the model has no chat template"));
  CHECK_THAT(error_of([] { ChatTemplate("{{ x"); }),
             contains("chat: the model's template, line 1: a block has no end"));
  CHECK_THAT(error_of([&] { thinking.render({{"wizard", "a"}}, "", ""); }), contains("role 'wizard' is unknown"));
  CHECK_THAT(error_of([&] { thinking.render({}, "", ""); }), contains("there is no message"));
}

}  // namespace headroom::models::jinja
