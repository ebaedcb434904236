import { isIPv4, isIPv6 } from 'node:net';
import { encodeName } from './wire.ts';

/** The bytes of an address, 4 or 16, one character each; undefined for what is no address. */
export function addressBytes(address: string): string | undefined {
  if (isIPv4(address)) return String.fromCharCode(...address.split('.').map(Number));
  if (!isIPv6(address) || address.includes('%')) return undefined;
  const groups = groupsOf(address);
  return groups.map((group) => String.fromCharCode(group >> 8, group & 0xff)).join('');
}

/** The eight groups of an IPv6 address; the last two may be written as IPv4. */
function groupsOf(address: string): number[] {
  const text = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a, b, c, d) => {
    const hex = (high: string, low: string) => (Number(high) * 256 + Number(low)).toString(16);
    return `${hex(a, b)}:${hex(c, d)}`;
  });
  const [head = '', tail] = text.split('::');
  const parse = (part: string): number[] => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)));
  if (tail === undefined) return parse(head);
  const [before, after] = [parse(head), parse(tail)];
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

/** The key of the name below in-addr.arpa or ip6.arpa that leads back from the bytes of an address. */
export function reverseKey(bytes: string): string {
  const codes = [...bytes].map((char) => char.charCodeAt(0));
  if (codes.length === 4) return encodeName(`${codes.reverse().join('.')}.in-addr.arpa`)!;
  const digits = codes.flatMap((code) => [code >> 4, code & 15]).reverse();
  return encodeName(`${digits.map((digit) => digit.toString(16)).join('.')}.ip6.arpa`)!;
}

/** The address that a reverse name's labels stand for; undefined unless it is whole. */
export function reversedAddress(labels: readonly string[]): string | undefined {
  const [below, top] = labels.slice(-2);
  const parts = labels.slice(0, -2).reverse();
  if (top !== 'arpa') return undefined;
  if (below === 'in-addr') return isIPv4(parts.join('.')) ? parts.join('.') : undefined;
  if (below !== 'ip6' || parts.length !== 32 || parts.some((part) => !/^[0-9a-f]$/.test(part))) return undefined;
  return parts.join('').replace(/(.{4})(?!$)/g, '$1:');
}

/** An address as the first label of a pod's or endpoint's name: 10-42-0-7, fd00--7. */
export function dashedAddress(address: string): string {
  const text = address.replaceAll(/[.:]/g, '-').toLowerCase();
  // A label neither begins nor ends with a dash.
  return `${text.startsWith('-') ? '0' : ''}${text}${text.endsWith('-') ? '0' : ''}`;
}

/** The bytes of the address that such a label stands for. */
export function dashedBytes(label: string): string | undefined {
  const dotted = label.replaceAll('-', '.');
  return isIPv4(dotted) ? addressBytes(dotted) : addressBytes(label.replaceAll('-', ':'));
}
