import { createHash, timingSafeEqual } from 'node:crypto';
import type { Identity } from './identity.ts';

/** Finds the user of a bearer token. */
export interface TokenTable {
  find(token: string): Identity | undefined;
}

interface Row extends Identity {
  readonly hash: Buffer;
}

export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** One line of the token file: hash, user, groups. */
export function formatToken(token: string, identity: Identity): string {
  return `${hashToken(token).toString('hex')},${identity.user},${identity.groups.join(';')}\n`;
}

/**
 * Reads a token file: lines of "sha-256 in hex,user,group;group"; empty lines and those that start with "#" are
 * skipped. Throws an Error that names the line that cannot be read. Looking up compares with every row in constant
 * time.
 */
export function parseTokens(text: string): TokenTable {
  const rows = text.split('\n').flatMap((line, i) => parseRow(line.trim(), i + 1));
  return {
    find(token) {
      const hash = hashToken(token);
      let found: Row | undefined;
      for (const row of rows) if (timingSafeEqual(row.hash, hash)) found = row;
      return found && { user: found.user, groups: found.groups };
    },
  };
}

function parseRow(line: string, number: number): Row[] {
  if (line === '' || line.startsWith('#')) return [];
  const [hash = '', user = '', groups = ''] = line.split(',');
  if (!/^[0-9a-f]{64}$/.test(hash) || user === '')
    throw new Error(`token file, line ${number}: expected "SHA-256-HEX,USER,GROUP;GROUP"`);
  return [{ hash: Buffer.from(hash, 'hex'), user, groups: groups.split(';').filter((group) => group !== '') }];
}
