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
