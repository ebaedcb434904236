const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const V4 = new RegExp(`^(?:${OCTET}\\.){3}${OCTET}$`);
const GROUP = /^[0-9a-fA-F]{1,4}$/;
const GROUPS = 8;

/** 4 or 6 for the text of an IP address, 0 for everything else. */
export function ipVersion(text: string): 0 | 4 | 6 {
  if (V4.test(text)) return 4;
  return isV6(text) ? 6 : 0;
}

/** Eight groups, of which one run may be left out as "::"; the last two may be written as an IPv4 address. */
function isV6(text: string): boolean {
  const halves = text.split('::');
  if (halves.length > 2 || !text.includes(':')) return false;
  const [head = 0, tail = 0] = halves.map((half, i) => countGroups(half, i === halves.length - 1));
  if (Number.isNaN(head) || Number.isNaN(tail)) return false;
  return halves.length === 1 ? head === GROUPS : head + tail < GROUPS;
}

/** How many groups stand in a part of an address; NaN when one of them is none. */
function countGroups(part: string, isLast: boolean): number {
  if (part === '') return 0;
  const groups = part.split(':');
  const endsInV4 = isLast && V4.test(groups.at(-1) ?? '');
  const hex = endsInV4 ? groups.slice(0, -1) : groups;
  return hex.every((group) => GROUP.test(group)) ? hex.length + (endsInV4 ? 2 : 0) : Number.NaN;
}

/** Whether a text is a range of addresses: "10.88.1.0/24", "fd00::/8". */
export function isAddressRange(text: string): boolean {
  const [address = '', length = '', ...rest] = text.split('/');
  const version = ipVersion(address);
  return version !== 0 && rest.length === 0 && /^\d{1,3}$/.test(length) && Number(length) <= (version === 4 ? 32 : 128);
}

/**
 * The usual form of an IP address, in which equal addresses are equal texts; undefined for any other text. That of an
 * IPv4 address in IPv6's form is the IPv4 address.
 */
export function canonicalIp(text: string): string | undefined {
  const version = ipVersion(text);
  if (version !== 6) return version === 4 ? text : undefined;
  const groups = groupsOf(text);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff)
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 0xff])
      .join('.');
  return shortened(groups);
}

/** The same of a range, whose address is that of the network. */
export function canonicalRange(text: string): string | undefined {
  if (!isAddressRange(text)) return undefined;
  const [address = '', length = ''] = text.split('/');
  const bits = Number(length);
  if (ipVersion(address) === 6) return `${shortened(masked(groupsOf(address), bits, 16))}/${bits}`;
  return `${masked(address.split('.').map(Number), bits, 8).join('.')}/${bits}`;
}

/** The eight numbers of an IPv6 address. */
function groupsOf(text: string): number[] {
  const [head = [], tail] = text.split('::').map((half) => (half === '' ? [] : half.split(':').flatMap(numbersOf)));
  return tail ? [...head, ...new Array<number>(GROUPS - head.length - tail.length).fill(0), ...tail] : head;
}

function numbersOf(group: string): number[] {
  if (!group.includes('.')) return [Number.parseInt(group, 16)];
  const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
  return [a * 256 + b, c * 256 + d];
}

/** The numbers with all bits behind the first `bits` cleared; each has `width` of them. */
function masked(numbers: readonly number[], bits: number, width: number): number[] {
  return numbers.map((number, i) => {
    const cleared = width - Math.min(Math.max(bits - i * width, 0), width);
    return (number >> cleared) << cleared;
  });
}

/** RFC 5952: the longest run of zeros, the first of several, is left out. */
function shortened(groups: readonly number[]): string {
  let [at, length] = [0, 1];
  for (let start = 0; start < GROUPS; start++) {
    let end = start;
    while (groups[end] === 0) end++;
    if (end - start > length) [at, length] = [start, end - start];
  }
  const text = (part: readonly number[]): string => part.map((group) => group.toString(16)).join(':');
  return length > 1 ? `${text(groups.slice(0, at))}::${text(groups.slice(at + length))}` : text(groups);
}
