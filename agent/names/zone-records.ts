import { addressBytes } from './address-names.ts';
import { below, type OwnedRecord, ttlSeconds } from './service-records.ts';
import { record, texts, types, word } from './wire.ts';

/** Of the specification whose names these are. */
const schemaVersion = '1.1.0';

/** The zone's own records: its authority, where that is, and the version of the schema. */
export function computeZoneRecords(zone: string, address: string): OwnedRecord[] {
  const server = below('ns.dns', zone)!;
  const bytes = addressBytes(address);
  const own = (owner: string, type: number, data: string): OwnedRecord => ({
    owner,
    type,
    record: record(type, ttlSeconds, data),
  });
  return [
    own(zone, types.soa, soaData(zone)),
    own(zone, types.ns, server),
    own(below('dns-version', zone)!, types.txt, texts(schemaVersion)),
    ...(bytes === undefined ? [] : [own(server, bytes.length === 4 ? types.a : types.aaaa, bytes)]),
  ];
}

/**
 * Serial, refresh, retry and expiry are for secondaries, of which there are none; the last is how long "no" is kept.
 */
function soaData(zone: string): string {
  const times = [1, 7200, 1800, 86_400, ttlSeconds].map((value) => word(value >>> 16) + word(value));
  return below('ns.dns', zone)! + below('hostmaster', zone)! + times.join('');
}
