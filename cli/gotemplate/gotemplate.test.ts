import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { fillGoTemplate } from './evaluate.ts';
import { readGoTemplate } from './index.ts';
import { parseGoTemplate } from './parse.ts';

const data: JsonObject = {
  kind: 'List',
  items: [
    {
      metadata: { name: 'web', labels: { app: 'web', 'a.b/c': 'x' } },
      spec: {
        containers: [
          { name: 'main', image: 'i:1', ports: [{ containerPort: 8080 }] },
          { name: 'side', image: 'i:2' },
        ],
      },
      status: { phase: 'Running', ready: true, restarts: 3, share: 0.5 },
    },
    { metadata: { name: 'db' }, spec: { containers: [] }, status: { phase: 'Pending', ready: false, restarts: 0 } },
  ],
  data: { plain: 'aGVsbG8=', binary: '//4=', html: '<a href="x">&\'' },
  empty: {},
  nothing: null,
  big: 1e21,
  small: 0.00001,
  text: 'übel',
};

const fill = (template: string): string => readGoTemplate(template)(data);

describe('a template of Go', () => {
  it.each([
    // Text, trimming, comments.
    ['a {{- /* c */ -}} b', 'ab'],
    ['a {{/* c */}} b', 'a  b'],
    ['{{"x"}} {{- "y" -}} \n z', 'xyz'],
    ['{{23 -}} < {{- 45}}', '23<45'],
    ['{{\n .kind\n}}', 'List'],
    // Values.
    ['{{.kind}} {{.none}} {{.none.deeper}} {{.nothing}}', 'List <no value> <no value> <no value>'],
    ['{{(index .items 0).status}}', 'map[phase:Running ready:true restarts:3 share:0.5]'],
    ['{{range .items}}{{.metadata.labels}}{{end}}', 'map[a.b/c:x app:web]<no value>'],
    ['{{.big}} {{.small}} {{(index .items 0).spec.containers}}', /^1e\+21 1e-05 \[map\[image:i:1 name:main ports:\[map\[/],
    ['{{true}} {{-3}} {{0x1F}} {{1_000}} {{1.50}} {{\'a\'}} {{`r\\n`}} {{"q\\t\\u00e9"}}', 'true -3 31 1000 1.5 97 r\\n q\té'],
    // Control.
    ['{{range .items}}{{.metadata.name}} {{end}}', 'web db '],
    ['{{range $i, $e := .items}}{{$i}}={{$e.metadata.name}} {{end}}', '0=web 1=db '],
    ['{{range $e := .items}}{{$e.metadata.name}},{{end}}', 'web,db,'],
    ['{{range $k, $v := .data}}{{$k}} {{end}}', 'binary html plain '],
    ['{{range .none}}x{{else}}none{{end}}', 'none'],
    ['{{range 3}}{{.}}{{end}}{{range $i := 2}}{{$i}}{{end}}', '01201'],
    ['{{range .items}}{{if eq .metadata.name "web"}}{{continue}}{{end}}{{.metadata.name}}{{end}}', 'db'],
    ['{{range .items}}{{.metadata.name}}{{break}}{{end}}', 'web'],
    ['{{if .empty}}a{{else if .none}}b{{else}}c{{end}}', 'c'],
    ['{{with .data}}{{.plain}}{{end}}{{with .none}}x{{else}}y{{end}}', 'aGVsbG8=y'],
    ['{{with .none}}x{{else with .kind}}{{.}}{{end}}', 'List'],
    ['{{range .items}}{{$.kind}}{{end}}', 'ListList'],
    // Variables and their scopes.
    ['{{$x := 1}}{{range .items}}{{$x = .status.restarts}}{{end}}{{$x}}', '0'],
    ['{{$x := 1}}{{range .items}}{{$x := 2}}{{end}}{{$x}}', '1'],
    ['{{with $x := .kind}}{{$x}}{{end}}', 'List'],
    // Functions and pipelines.
    ['{{len .items}} {{len .text}} {{len .data}}', '2 5 3'],
    ['{{index (index .items 0).metadata.labels "a.b/c"}}', 'x'],
    ['{{(index (index .items 0).spec.containers 0).image}}', 'i:1'],
    ['{{index .items 0 "status" "phase"}}', 'Running'],
    ['{{.data.plain | base64decode | printf "%s!"}}', 'hello!'],
    ['{{exists .data "plain"}} {{exists .items 1 "metadata" "name"}} {{exists .data "x" "y"}}', 'true true false'],
    ['{{slice .text 2 4}} {{len (slice .items 1)}}', 'be 1'],
    [
      '{{html .data.html}}|{{js .data.html}}',
      '&lt;a href=&#34;x&#34;&gt;&amp;&#39;|\\u003Ca href\\u003D\\"x\\"\\u003E\\u0026\\\'',
    ],
    ['{{urlquery "a b&c=ü!"}}', 'a+b%26c%3D%C3%BC%21'],
    ['{{print 1 2 "a" 3 4}}|{{println "a" 1}}|{{print .none}}', '1 2a3 4|a 1\n|<nil>'],
    ['{{and .kind .empty "x"}} {{or .none "y" .kind.none}} {{not .none}}', 'map[] y true'],
    ['{{and true .kind}} {{or false 0}}', 'List 0'],
    [
      '{{eq .kind "a" "List"}} {{ne .kind "a"}} {{lt 1 2}} {{le "b" "a"}} {{gt 2.5 2}} {{ge 2 2}}',
      'true true true false true true',
    ],
    ['{{eq .none "x"}} {{eq .none nil}} {{eq (index .items 0).status.restarts 3}}', 'false true true'],
    // Templates.
    ['{{define "t"}}<{{.}}>{{end}}{{template "t" .kind}}{{block "b" .text}}[{{.}}]{{end}}', '<List>[übel]'],
    ['{{define "t"}}{{$}}{{end}}{{range .items}}{{template "t" .metadata.name}}{{end}}', 'webdb'],
  ])('%j', (template, text) => {
    if (typeof text === 'string') expect(fill(template)).toBe(text);
    else expect(fill(template)).toMatch(text);
  });

  it.each([
    ['%s|%10s|%-5s|%.2s|%q', 'abc', 'abc|       abc|abc  |ab|"abc"'],
    ['%d|%5d|%05d|%+d|%x', 42, '42|   42|00042|+42|2a'],
    ['%f|%.2f|%8.3f|%e|%g', 1.5, '1.500000|1.50|   1.500|1.500000e+00|1.5'],
    ['%v|%t|%5t|%T|%v', true, 'true|true| true|bool|true'],
    ['%d|%s|%z|%v|%%', 'x', '%!d(string=x)|x|%!z(string=x)|x|%'],
  ])('prints %j of %j', (format, value, text) => {
    const count = format.replaceAll('%%', '').split('%').length - 1;
    expect(readGoTemplate(`{{printf ${JSON.stringify(format)}${' .v'.repeat(count)}}}`)({ v: value })).toBe(text);
  });

  it('says in the text what does not fit a format', () => {
    expect(fill('{{printf "%s %d" "a"}}')).toBe('a %!d(MISSING)');
    expect(fill('{{printf "%s" "a" 1 "b"}}')).toBe('a%!(EXTRA int=1, string=b)');
    expect(fill('{{printf "%s %v" .none .nothing}}')).toBe('%!s(<nil>) <nil>');
    expect(fill('{{printf "%*d|%99999999d" 4 7 1}}')).toBe('   7|%!(BADWIDTH)%!(EXTRA int=1)');
    expect(fill('{{printf "%s" .items}}')).toContain('restarts:%!s(int=3)');
  });
});

describe('a template that cannot be read', () => {
  it.each([
    ['{{.x', 'output:1: unclosed action'],
    ['a\n{{range .x}}', 'output:2: unexpected EOF'],
    ['{{foo .x}}', 'output:1: function "foo" not defined'],
    ['{{$x}}', 'output:1: undefined variable "$x"'],
    ['{{range .x}}{{$y := .}}{{end}}{{$y}}', 'output:1: undefined variable "$y"'],
    ['{{$y = 1}}', 'output:1: undefined variable "$y"'],
    ['{{.metadata.my-label}}', "output:1: bad character U+002D '-'"],
    ['{{end}}', 'output:1: unexpected {{end}}'],
    ['{{if .x}}{{else}}{{else}}{{end}}', 'output:1: expected end; found {{else}}'],
    ['{{if}}x{{end}}', 'output:1: missing value for if'],
    ['{{break}}', 'output:1: {{break}} outside {{range}}'],
    ['{{define "x"}}{{define "y"}}{{end}}{{end}}', 'output:1: unexpected {{define}}'],
    ['{{"abc}}', 'output:1: unterminated quoted string'],
    ['{{/* x }}', 'output:1: unclosed comment'],
    ['{{(.x}}', 'output:1: unclosed left paren'],
    ['{{.x)}}', 'output:1: unexpected right paren'],
    ['{{.x # }}', 'output:1: unexpected "#" in operand'],
    ['{{# .x}}', 'output:1: unexpected "#" in command'],
    ['{{range } }}', 'output:1: unexpected "}" in range'],
    ['{{range .items}', "output:1: bad character U+007D '}'"],
    ['{{.x \u0001}}', 'output:1: unrecognized character in action: U+0001'],
    ['{{template "x" := 1}}', 'output:1: unexpected ":=" in template clause'],
    ['{{if .x}}{{end "a long text"}}{{end}}', 'output:1: unexpected "\\"a long te"... in end'],
    ['{{3x}}', 'output:1: bad number syntax: "3x"'],
    ['{{.x | "y"}}', 'output:1: non executable command in pipeline stage 2'],
    ['{{.x | }}', 'output:1: missing value for command'],
    ['{{"x".y}}', 'output:1: unexpected . after term "\\"x\\""'],
    ['{{if .x}}{{$a, $b := .x}}{{end}}', 'output:1: too many declarations in command'],
    ['{{range $a, $b, $c := .x}}{{end}}', 'output:1: too many declarations in range'],
    ['{{"\\q"}}', 'output:1: invalid syntax'],
    ['{{template .x}}', 'output:1: unexpected ".x" in template clause'],
    [`${'{{if .x}}'.repeat(500)}`, 'levels deep'],
    [`{{${'('.repeat(500)}.x${')'.repeat(500)}}}`, 'levels deep'],
  ])('%j', (template, message) => expect(() => fill(template)).toThrow(message));

  it('is shown with the reason, as by kubectl', () => {
    expect(() => fill('{{.x')).toThrow(/^error parsing template \{\{\.x, template: output:1: unclosed action$/);
  });
});

describe('a template that cannot be filled in', () => {
  it.each([
    ['x\n{{.kind.x}}', 'output:2:2: executing "output" at <.kind.x>: can\'t evaluate field x in type string'],
    ['{{.nothing.x}}', 'output:1:2: executing "output" at <.nothing.x>: nil pointer evaluating interface {}.x'],
    ['{{index .items 5}}', '<index>: error calling index: index out of range: 5'],
    ['{{index .none 0}}', 'error calling index: index of untyped nil'],
    ['{{index .items "a"}}', 'error calling index: cannot index slice/array with type string'],
    ['{{len 3}}', 'error calling len: len of type int'],
    ['{{len}}', 'wrong number of args for len: want 1 got 0'],
    ['{{eq .kind 1}}', 'error calling eq: incompatible types for comparison'],
    ['{{lt .none 1}}', 'error calling lt: invalid type for comparison'],
    ['{{range .kind}}{{end}}', "range can't iterate over List"],
    ['{{.kind "x"}}', 'kind is not a method but has arguments'],
    ['{{nil}}', 'nil is not a command'],
    ['{{template "no"}}', 'template "no" not defined'],
    ['{{base64decode "%"}}', 'error calling base64decode: base64 decode failed: illegal base64 data'],
    ['{{base64decode .data.binary}}', 'the decoded value is binary'],
    ['{{base64decode 3}}', 'wrong type for value; expected string; got int'],
    ['{{define "t"}}{{.x}}{{end}}{{template "t" "s"}}', 'executing "t" at <.x>'],
  ])('%j', (template, message) => expect(() => fill(template)).toThrow(message));

  it('is shown with the reason, as by kubectl', () => {
    expect(() => fill('{{len}}')).toThrow(
      /^error executing template "\{\{len\}\}": template: output:1:2: executing "output" at <len>: /,
    );
  });

  it('reads no members that the data does not have of its own', () => {
    expect(fill('{{.constructor}} {{.__proto__}} {{index .data "toString"}}')).toBe('<no value> <no value> <no value>');
    expect(() => fill('{{constructor}}')).toThrow('function "constructor" not defined');
  });
});

describe('the bounds of a template', () => {
  const bounded = (template: string, bounds: { steps?: number; characters?: number; depth?: number }): string =>
    fillGoTemplate(parseGoTemplate(template), data, { steps: 1_000, characters: 100, depth: 500, ...bounds });

  it.each([
    ['{{range 1000000000}}{{end}}', {}, 'has not ended after 1000 steps'],
    ['{{range 1000}}abc{{end}}', { steps: 1e6 }, 'output is longer than 100 characters'],
    [`{{$x := "abcdefgh"}}{{range 20}}{{$x = printf "%s%s" $x $x}}{{end}}`, {}, 'output is longer than 100 characters'],
    ['{{define "t"}}{{template "t" .}}{{end}}{{template "t" .}}', { steps: 1e6 }, 'exceeded maximum template depth (500)'],
    [
      `{{define "t"}}${'{{if .}}'.repeat(150)}{{template "t" .}}${'{{end}}'.repeat(150)}{{end}}{{template "t" .}}`,
      { steps: 1e6 },
      'exceeded maximum template depth (500)',
    ],
  ])('%j', (template, bounds, message) => expect(() => bounded(template, bounds)).toThrow(message));
});
