import { failed, Opaque, type Value } from '../values.ts';
import { type Library, opaqueArg, textArg, withSteps } from './library.ts';
import { QuantityValue, quantities } from './quantities.ts';

/** Characters of a version. */
const VERSION_CHARACTERS = 256;
/** Steps of reading a version. */
const VERSION_STEPS = 40;
const NUMBER = '(0|[1-9]\\d{0,17})';
const PART = '[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*';
const VERSION = new RegExp(`^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-(${PART}))?(?:\\+(${PART}))?$`);

class VersionValue extends Opaque {
  override readonly typeName = 'kubernetes.Semver';
  override readonly identity: string;
  readonly numbers: readonly bigint[];
  readonly preRelease: readonly string[];

  constructor(text: string, numbers: readonly bigint[], preRelease: readonly string[]) {
    super();
    this.identity = text;
    this.numbers = numbers;
    this.preRelease = preRelease;
  }
}

/** Reads "1.2.3-rc.1+build"; normalized also "v1.2" and "01.2.3". */
function parse(text: string, isNormalized: boolean): VersionValue | undefined {
  if (text.length > VERSION_CHARACTERS) return undefined;
  const plain = isNormalized ? normalized(text) : text;
  const [, major, minor, patch, preRelease] = VERSION.exec(plain) ?? [];
  if (major === undefined || minor === undefined || patch === undefined) return undefined;
  const parts = preRelease?.split('.') ?? [];
  if (parts.some((part) => /^0\d+$/.test(part))) return undefined;
  return new VersionValue(plain, [major, minor, patch].map(BigInt), parts);
}

function normalized(text: string): string {
  const [, numbers = '', rest = ''] = /^v?([\d.]*)(.*)$/.exec(text.trim()) ?? [];
  const parts = numbers.split('.').map((part) => part.replace(/^0+(?=\d)/, ''));
  return `${[...parts, '0', '0'].slice(0, Math.max(3, parts.length)).join('.')}${rest}`;
}

const versionArg = (value: Value | undefined): VersionValue => opaqueArg(VersionValue, 'a version', value);

function order(a: VersionValue, b: VersionValue): number {
  for (const [at, number] of a.numbers.entries()) if (number !== b.numbers[at]) return number < b.numbers[at]! ? -1 : 1;
  if (a.preRelease.length === 0 || b.preRelease.length === 0) return b.preRelease.length - a.preRelease.length;
  for (let at = 0; at < Math.max(a.preRelease.length, b.preRelease.length); at++) {
    const [x, y] = [a.preRelease[at], b.preRelease[at]];
    if (x === undefined || y === undefined) return x === undefined ? -1 : 1;
    if (x !== y) return orderOfParts(x, y);
  }
  return 0;
}

/** Numbers stand before words. */
function orderOfParts(a: string, b: string): number {
  const [isA, isB] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (isA && isB) return a.length - b.length || (a < b ? -1 : 1);
  if (isA !== isB) return isA ? -1 : 1;
  return a < b ? -1 : 1;
}

/** Of versions, else of quantities, whose functions have the same names. */
function comparison(name: string, read: (order: number) => Value) {
  return (...[args, budget]: Parameters<NonNullable<(typeof quantities.handlers)[string]>>): Value => {
    if (args[0] instanceof QuantityValue) return quantities.handlers[name]!(args, budget);
    const [a, b] = [versionArg(args[0]), versionArg(args[1])];
    budget.take(Math.min(a.preRelease.length, b.preRelease.length));
    return read(Math.sign(order(a, b)));
  };
}

const V = 'kubernetes.Semver';

/** Kubernetes' semver library. */
export const versions: Library = {
  name: 'semver',
  types: { [V]: VersionValue },
  signatures: [
    `semver(string): ${V}`,
    `semver(string, bool): ${V}`,
    'isSemver(string): bool',
    'isSemver(string, bool): bool',
    ...['major', 'minor', 'patch'].map((name) => `${V}.${name}(): int`),
    ...['isLessThan', 'isGreaterThan'].map((name) => `${V}.${name}(${V}): bool`),
    `${V}.compareTo(${V}): int`,
  ],
  handlers: withSteps(VERSION_STEPS, {
    semver: ([text, isNormalized]) =>
      parse(textArg(text), isNormalized === true) ?? failed('the text is no version such as "1.2.3"'),
    isSemver: ([text, isNormalized]) => parse(textArg(text), isNormalized === true) !== undefined,
    major: ([version]) => versionArg(version).numbers[0]!,
    minor: ([version]) => versionArg(version).numbers[1]!,
    patch: ([version]) => versionArg(version).numbers[2]!,
    isLessThan: comparison('isLessThan', (found) => found < 0),
    isGreaterThan: comparison('isGreaterThan', (found) => found > 0),
    compareTo: comparison('compareTo', (found) => BigInt(found)),
  }),
};
