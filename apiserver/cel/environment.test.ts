import { describe, expect, test } from 'vitest';
import { Budget, BudgetExceeded } from './budget.ts';
import { ExpressionError, expressionCompiler, type ObjectType } from './environment.ts';
import { CelError, celValue } from './values.ts';

const TYPES: ObjectType[] = [
  { name: 'item', fields: { a: 'int', opt: 'string' } },
  { name: 'spec', fields: { replicas: 'int', name: 'string', tags: 'list<string>', counts: 'map<string, int>' } },
  { name: 'root', fields: { spec: 'spec', items: 'list<item>' } },
];
const compiler = expressionCompiler({ variables: { self: 'dyn', typed: 'root' }, types: TYPES });
const self = celValue(
  { spec: { replicas: 3, name: 'héllo', tags: ['a', 'b'], counts: { a: 1 }, share: 1.5 }, items: [{ a: 1, opt: 'x' }, { a: 2 }] },
  undefined,
  new Budget(100, 'self'),
);

function evaluate(source: string, steps = 100_000) {
  return compiler.compile(source, ['bool']).evaluate({ self, typed: self }, new Budget(steps, source));
}

describe('expressions that are true', () => {
  test.each([
    'self.spec.replicas > 1 && typed.spec.replicas == 3',
    '!has(self.spec.missing) && has(self.items[0].opt) && !has(typed.items[1].opt)',
    'typed == typed && typed.items == self.items',
    'self.items.exists(i, i.a > 1) && !self.items.all(i, i.a > 1) && self.items.exists_one(i, i.a == 1)',
    'self.items.all(at, item, item.a == at + 1)',
    'self.items.map(i, i.a) == [1, 2] && [1, 2].map(x, x > 1, x * 2) == [4]',
    'self.items.filter(i, has(i.opt)).size() == 1',
    '{"a": 1}.all(key, key == "a") && {"a": 1}.exists(key, value, value == 1)',
    '[1, 2, 3].transformList(i, v, v + i) == [1, 3, 5] && [1, 2].transformMap(i, v, v > 1, v)[1] == 2',
    '["a", "b"].isSorted() && !["b", "a"].isSorted() && [1, 2, 3].sum() == 6 && [3, 1].min() == 1 && [3, 1].max() == 3',
    '[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(5) == -1',
    'sets.contains(["a", "b"], ["a"]) && sets.equivalent([1, 2], [2, 1, 1]) && !sets.intersects([1], [2])',
    '"abc".matches("^a") && matches("abc", "b") && !"abc".matches("^b")',
    '"abc 123".find("[0-9]+") == "123" && "1 2 3".findAll("[0-9]", 2) == ["1", "2"] && "a".find("b") == ""',
    '"%s has %d of %.2f%% (%x)".format(["it", 3, 1.5, 255]) == "it has 3 of 1.50% (ff)"',
    'self.spec.name.substring(1) == "éllo" && self.spec.name.size() == 5 && "abc".charAt(1) == "b"',
    '"a,b".split(",").join("-") == "a-b" && "xax".replace("x", "y", 1) == "yax" && " a ".trim() == "a"',
    '"aXb".lowerAscii() == "axb" && "abcb".indexOf("b", 2) == 3 && "abcb".lastIndexOf("b") == 3',
    'ip("10.0.0.1").family() == 4 && isIP("::1") && !isIP("10.0.0.256") && ip("127.0.0.1").isLoopback()',
    'ip.isCanonical("::1") && !ip.isCanonical("0:0:0:0:0:0:0:1") && string(ip("2001:DB8:0::1")) == "2001:db8::1"',
    'cidr("10.0.0.0/8").containsIP("10.1.1.1") && !cidr("10.0.0.0/8").containsIP(ip("11.1.1.1"))',
    'cidr("10.0.0.0/8").containsCIDR(cidr("10.2.0.0/16")) && cidr("10.1.2.3/8").prefixLength() == 8 && !isCIDR("10.0.0.0")',
    'quantity("1Gi").isGreaterThan(quantity("1G")) && quantity("1") == quantity("1000m") && !isQuantity("x")',
    'quantity("1").add(quantity("500m")).compareTo(quantity("1500m")) == 0 && quantity("5").asInteger() == 5',
    'semver("1.2.3-rc.1").isLessThan(semver("1.2.3")) && semver("v1.2", true).minor() == 2 && !isSemver("1.2")',
    'url("https://a.b:80/x?y=1").getHost() == "a.b:80" && url("https://a.b:80/x?y=1").getQuery()["y"] == ["1"]',
    '!isURL("foo") && isURL("/path") && url("https://[::1]:80/x").getHostname() == "::1"',
    'format.dns1123Label().validate("a_b").hasValue() && !format.named("uuid").value().validate("x").value()[0].contains("date")',
    'optional.of(1).optMap(x, x + 1).value() == 2 && !optional.none().hasValue() && self.?spec.?missing.orValue(1) == 1',
    'typed.?spec.?name.orValue("x") == "héllo" && self.items[?5].optFlatMap(i, i.?opt).orValue("none") == "none"',
    'cel.bind(spec, self.spec, spec.replicas > 1)',
    'type(1) == int && type(timestamp("2020-01-01T00:00:00Z")) == google.protobuf.Timestamp && type("") != int',
    'timestamp("2020-01-01T23:30:00Z").getDate("+01:00") == 2 && timestamp("2020-01-01T00:00:00Z").getFullYear() == 2020',
    'duration("1h").getMinutes() == 60 && string(duration("90m")) == "5400s" && duration("1h") > duration("59m59s")',
    'timestamp("2020-01-01T00:00:00Z") + duration("1h") == timestamp("2020-01-01T01:00:00Z")',
    '1u + 1u == 2u && dyn(1) == 1.0 && 7 / 2 == 3 && 7 % 4 == 3 && self.spec.share == 1.5',
    'b"abc" == bytes("abc") && int("5") == 5 && string(1.5) == "1.5" && double("1e3") == 1000.0 && bool("true")',
    'true || 1 / 0 == 1',
    '1 / 0 == 1 || true',
    '!(1 / 0 == 1 && false)',
    '[1, 0].exists(x, 1 / x == 1) && "a" in {"a": 1} && 1 in [1, 2] && !("z" in typed.spec.counts)',
  ])('%s', (source) => {
    expect(evaluate(source)).toBe(true);
  });
});

describe('expressions that do not compile', () => {
  test.each([
    ['typed.spec.foo == 1', "undefined field 'foo'"],
    ['has(typed.spec.foo)', "undefined field 'foo'"],
    ['typed.items.all(i, i.b > 1)', "undefined field 'b'"],
    ['other == 1', "undeclared reference to 'other'"],
    ['authorizer.path("/x").check("get").allowed()', "undeclared reference to 'authorizer'"],
    ['foo(1)', "found no matching overload for 'foo' applied to '(int)'"],
    ['"a".startsWith(1)', "found no matching overload for 'startsWith' applied to 'string.(int)'"],
    ['!typed.spec.replicas', "found no matching overload for '!_' applied to '(int)'"],
    ['typed.spec.counts > 1', "found no matching overload for '_>_' applied to '(map(string, int), int)'"],
    ['b"a".json() == {}', 'the function json() is not supported'],
    ['typed.spec.replicas == "a"', "found no matching overload for '_==_' applied to '(int, string)'"],
    ['typed.spec.replicas', 'must evaluate to bool, not int'],
    ['1 +', 'Unexpected'],
    ['typed.spec.name.matches("(?=a)")', 'invalid regular expression: error parsing regexp'],
    ['matches("a", "(")', 'invalid regular expression: error parsing regexp'],
    ['["a"].all(x, x.find("[") == "")', 'invalid regular expression: error parsing regexp'],
    ['"a".findAll("a{5001}", 1).size() == 1', 'invalid regular expression'],
    [`${'('.repeat(100)}true${')'.repeat(100)}`, 'Exceeded maxDepth'],
    [`"${'a'.repeat(20_000)}" == ""`, 'the limit is 16384'],
    [`${'1+'.repeat(3000)}1 > 0`, 'Exceeded maxAstNodes'],
  ])('%.80s is refused', (source, why) => {
    const compile = () => compiler.compile(source, ['bool']);
    expect(compile).toThrow(ExpressionError);
    expect(compile).toThrow(why);
  });
});

describe('expressions that fail', () => {
  test.each([
    ['self.spec.missing == 1', 'no such key: missing'],
    ['self.items[9].a == 1', 'index out of bounds: 9'],
    ['1 / (self.spec.replicas - 3) == 1', 'division by zero'],
    ['9223372036854775807 + self.spec.replicas > 0', 'integer overflow'],
    ['"abc".matches(self.spec.name + "(")', 'invalid regular expression'],
    ['[1, 0].all(x, 1 / x == 1)', 'division by zero'],
  ])('%s: %s', (source, why) => {
    expect(() => evaluate(source)).toThrow(CelError);
    expect(() => evaluate(source)).toThrow(why);
  });
});

describe('the budget', () => {
  const list = `[${Array.from({ length: 100 }, (_, at) => at).join()}]`;

  test.each([
    `${list}.all(a, ${list}.all(b, ${list}.all(c, ${list}.all(d, a + b + c + d >= 0))))`,
    `${list}.map(a, ${list}.map(b, ${list}.map(c, a))).size() == 100`,
    `${list}.all(a, cel.bind(s, "${'x'.repeat(1000)}", (s + s + s + s + s + s + s + s).matches("(x+x+)+y")) || true)`,
    `cel.bind(a, "0123456789", cel.bind(b, ${Array.from({ length: 60 }, () => 'a').join(' + ')}, ${Array.from({ length: 400 }, () => 'b').join(' + ')})).size() > 0`,
    `false || ${list}.all(a, ${list}.all(b, ${list}.all(c, true)))`,
  ])('stops an expression that takes too long: %.60s', (source) => {
    const expression = compiler.compile(source, ['bool']);
    const budget = new Budget(50_000, 'test');
    expect(() => expression.evaluate({ self, typed: self }, budget)).toThrow(BudgetExceeded);
  });
});
