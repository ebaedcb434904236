import packet, { type Answer, type DecodedPacket, type Packet } from 'dns-packet';
import type { EndpointView, PortView, ServiceView, SliceView } from '../../agent/names/changes.ts';

/** Another implementation of the wire format than agent/names has: what that writes, this one reads, and vice versa. */

export interface QueryOptions {
  /** What EDNS says; 0: a query without. */
  readonly udpSize?: number;
  readonly id?: number;
  readonly dnssecOk?: boolean;
}

/** A query as a client sends it. */
export function query(name: string, type: string, { udpSize = 1232, id = 7, dnssecOk = false }: QueryOptions = {}): Buffer {
  const flags = dnssecOk ? packet.DNSSEC_OK : 0;
  const opt = { type: 'OPT', name: '.', udpPayloadSize: udpSize, extendedRcode: 0, ednsVersion: 0, flags, options: [] };
  return packet.encode({
    type: 'query',
    id,
    flags: packet.RECURSION_DESIRED,
    questions: [{ type: type as 'A', name }],
    additionals: udpSize === 0 ? [] : [opt as unknown as Answer],
  });
}

/** What a message says, in short: rcode, and records as "name TYPE ttl data". */
export interface Said {
  readonly rcode: string;
  readonly answers: readonly string[];
  readonly authorities: readonly string[];
  readonly flags: { readonly aa: boolean; readonly tc: boolean };
}

export function read(message: Buffer): Said {
  const decoded = packet.decode(message) as DecodedPacket & { rcode: string };
  return {
    rcode: decoded.rcode,
    answers: (decoded.answers ?? []).map(text),
    authorities: (decoded.authorities ?? []).map(text),
    flags: { aa: decoded.flag_aa, tc: decoded.flag_tc },
  };
}

function text(answer: Answer): string {
  const { name, type, ttl, data } = answer as { name: string; type: string; ttl?: number; data: unknown };
  return `${name} ${type} ${ttl} ${dataText(data)}`;
}

function dataText(data: unknown): string {
  if (typeof data === 'string') return data;
  if (Array.isArray(data)) return data.map(String).join(' ');
  const { mname, target, port, cpu } = data as { mname?: string; target?: string; port?: number; cpu?: string };
  return mname ?? cpu ?? `${port} ${target}`;
}

/** An answer of an upstream server to a query. */
export function upstreamAnswer(asked: Buffer, parts: Partial<Packet> & { rcode?: number } = {}): Buffer {
  const { id, questions } = packet.decode(asked);
  const { rcode = 0, ...rest } = parts;
  return packet.encode({
    type: 'response',
    id,
    flags: packet.RECURSION_DESIRED | packet.RECURSION_AVAILABLE | rcode,
    questions,
    ...rest,
  });
}

/** The SOA record of a zone, whose "no" may be kept for so long. */
export function soa(name: string, minimum: number): Answer {
  const data = { mname: `ns.${name}`, rname: `admin.${name}`, serial: 1, refresh: 1, retry: 1, expire: 1, minimum };
  return { type: 'SOA', name, ttl: 900, data };
}

const http: PortView = { name: 'http', protocol: 'TCP', port: 80 };

/** A Service `namespace/name` with a cluster address. */
export function service(key: string, clusterIP: string, more: Partial<ServiceView> = {}): ServiceView {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name, type: 'ClusterIP', clusterIPs: [clusterIP], ports: [http], ...more };
}

/** A slice of the Service with these endpoints: "address", "address hostname", with "!" in front when not ready. */
export function slice(serviceKey: string, endpoints: readonly string[], suffix = 'a'): SliceView {
  const [namespace = '', serviceName = ''] = serviceKey.split('/');
  return {
    namespace,
    name: `${serviceName}-${suffix}`,
    serviceName,
    endpoints: endpoints.map(endpoint),
    ports: [{ ...http, port: 8080 }],
  };
}

function endpoint(word: string): EndpointView {
  const [address = '', hostname] = word.replace('!', '').split(' ');
  return { addresses: [address], ready: !word.startsWith('!'), ...(hostname !== undefined && { hostname }) };
}
