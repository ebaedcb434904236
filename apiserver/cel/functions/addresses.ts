import { addressText } from '../../../api/meta/address-range.ts';
import { canonicalIp, ipVersion, isAddressRange } from '../../../api/meta/ip.ts';
import { blockContains, blockOfAddress, type IpBlock, parseIpBlock } from '../../../api/meta/ip-block.ts';
import { failed, Opaque, type Value } from '../values.ts';
import { type Library, opaqueArg, textArg, withSteps } from './library.ts';

/** Characters of an address, or of a range; longer texts are none. */
const ADDRESS_CHARACTERS = 64;
/** Steps of reading or writing an address. */
const ADDRESS_STEPS = 40;
const BITS = { 4: 32, 6: 128 } as const;

class IpValue extends Opaque {
  override readonly typeName = 'net.IP';
  readonly block: IpBlock;

  constructor(block: IpBlock) {
    super();
    this.block = block;
  }

  override get identity(): string {
    return textOf(this.block);
  }
}

class CidrValue extends Opaque {
  override readonly typeName = 'net.CIDR';
  readonly address: IpBlock;
  readonly block: IpBlock;

  constructor(address: IpBlock, block: IpBlock) {
    super();
    this.address = address;
    this.block = block;
  }

  override get identity(): string {
    return `${textOf(this.address)}/${this.block.length}`;
  }
}

/** The canonical text of an address. */
function textOf({ version, first }: IpBlock): string {
  if (version === 4) return addressText(Number(first));
  const text = Array.from({ length: 8 }, (_, at) => ((first >> BigInt(112 - 16 * at)) & 0xffffn).toString(16)).join(':');
  return canonicalIp(text) ?? text;
}

function parseIp(text: string): IpValue | undefined {
  if (text.length > ADDRESS_CHARACTERS) return undefined;
  const block = ipVersion(text) === 0 ? undefined : blockOfAddress(text);
  return block === undefined || isMapped(block) ? undefined : new IpValue(block);
}

/** IPv4 addresses written as IPv6 ones, which Kubernetes refuses. */
function isMapped({ version, first }: IpBlock): boolean {
  return version === 6 && first >> 32n === 0xffffn;
}

function parseCidr(text: string): CidrValue | undefined {
  if (text.length > ADDRESS_CHARACTERS) return undefined;
  const [address, block] = [blockOfAddress(text.split('/')[0]!), parseIpBlock(text)];
  if (!isAddressRange(text) || address === undefined || block === undefined || isMapped(address)) return undefined;
  return new CidrValue(address, block);
}

function ipArg(value: Value | undefined): IpValue {
  if (value instanceof IpValue) return value;
  return parseIp(textArg(value)) ?? failed('the text is no IP address');
}

function cidrArg(value: Value | undefined): CidrValue {
  if (value instanceof CidrValue) return value;
  return parseCidr(textArg(value)) ?? failed('the text is no range of addresses');
}

const rangeArg = (value: Value | undefined): CidrValue => opaqueArg(CidrValue, 'a range of addresses', value);

/** Ranges of addresses by their meaning. */
const [UNSPECIFIED, LOOPBACK, MULTICAST, LINK_LOCAL, LINK_LOCAL_MULTICAST] = [
  ['0.0.0.0/32', '::/128'],
  ['127.0.0.0/8', '::1/128'],
  ['224.0.0.0/4', 'ff00::/8'],
  ['169.254.0.0/16', 'fe80::/10'],
  ['224.0.0.0/24', 'ff02::/16'],
].map((texts) => texts.flatMap((text) => parseIpBlock(text) ?? []));

function isWithin(value: Value | undefined, ...ranges: (readonly IpBlock[] | undefined)[]): boolean {
  const { block } = ipArg(value);
  return ranges.flatMap((range) => range ?? []).some((range) => blockContains(range, block));
}

const QUESTIONS = ['isUnspecified', 'isLoopback', 'isLinkLocalMulticast', 'isLinkLocalUnicast', 'isGlobalUnicast'];

/** Kubernetes' IP and CIDR libraries. */
export const addresses: Library = {
  name: 'IP and CIDR',
  types: { 'net.IP': IpValue, 'net.CIDR': CidrValue },
  namespaces: ['ip'],
  signatures: [
    'ip(string): net.IP',
    'isIP(string): bool',
    'IpNamespace.isCanonical(string): bool',
    'net.IP.family(): int',
    ...QUESTIONS.map((name) => `net.IP.${name}(): bool`),
    'string(net.IP): string',
    'cidr(string): net.CIDR',
    'isCIDR(string): bool',
    'net.CIDR.containsIP(string): bool',
    'net.CIDR.containsIP(net.IP): bool',
    'net.CIDR.containsCIDR(string): bool',
    'net.CIDR.containsCIDR(net.CIDR): bool',
    'net.CIDR.ip(): net.IP',
    'net.CIDR.masked(): net.CIDR',
    'net.CIDR.prefixLength(): int',
    'string(net.CIDR): string',
  ],
  handlers: withSteps(ADDRESS_STEPS, {
    ip: ([value]) => (value instanceof CidrValue ? new IpValue(value.address) : ipArg(value)),
    isIP: ([text]) => parseIp(textArg(text)) !== undefined,
    'ip.isCanonical': ([text]) => ipArg(text).identity === textArg(text),
    family: ([ip]) => BigInt(ipArg(ip).block.version),
    isUnspecified: ([ip]) => isWithin(ip, UNSPECIFIED),
    isLoopback: ([ip]) => isWithin(ip, LOOPBACK),
    isLinkLocalMulticast: ([ip]) => isWithin(ip, LINK_LOCAL_MULTICAST),
    isLinkLocalUnicast: ([ip]) => isWithin(ip, LINK_LOCAL),
    isGlobalUnicast: ([ip]) =>
      !isWithin(ip, UNSPECIFIED, LOOPBACK, MULTICAST, LINK_LOCAL) && ipArg(ip).identity !== '255.255.255.255',
    cidr: ([value]) => cidrArg(value),
    isCIDR: ([text]) => parseCidr(textArg(text)) !== undefined,
    containsIP: ([range, ip]) => blockContains(rangeArg(range).block, ipArg(ip).block),
    containsCIDR: ([range, inner]) => blockContains(rangeArg(range).block, cidrArg(inner).block),
    masked: ([range]) => {
      const { block } = rangeArg(range);
      return new CidrValue({ ...block, length: BITS[block.version] }, block);
    },
    prefixLength: ([range]) => BigInt(rangeArg(range).block.length),
  }),
};
