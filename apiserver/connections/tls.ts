import { constants as cryptoConstants } from 'node:crypto';
import type { SecureContextOptions } from 'node:tls';
import type { ServingIdentity } from '../pki/held-certificates.ts';

export type TlsVersion = '1.2' | '1.3';

export interface TlsOptions {
  /** The oldest version that is spoken. */
  readonly minVersion: TlsVersion;
}

/** Every client of Berth speaks 1.3. */
export const defaultTls: TlsOptions = { minVersion: '1.3' };

/** Only what is authenticated and forward secret; the certificates are ECDSA. The first is the cheapest and safe. */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
].join(':');

/**
 * What one connection may do to the HTTP/2 library. Beyond it the library ends the connection by itself; nghttp2 does
 * the same for more than 1,000 resets of streams at once and 33 a second (rapid reset), for more than 1,000 answers
 * that wait (floods of PING and SETTINGS), and for header blocks of many pieces.
 */
export const sessionOptions = {
  settings: { maxConcurrentStreams: 1_000, maxHeaderListSize: 64 * 1024 },
  /**
   * In MB. A thousand watches may have 128 KiB each on their way; a client with more unread data gets no new streams.
   */
  maxSessionMemory: 192,
  maxHeaderListPairs: 128,
  maxSettings: 32,
  maxOutstandingPings: 10,
  /** Requests that break the rules of HTTP are among them, and are reset. One more ends the connection. */
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  /** How long a client that speaks no HTTP/2 has to read the error. */
  unknownProtocolTimeout: 2_000,
  maxSendHeaderBlockLength: Number.MAX_SAFE_INTEGER,
} as const;

/** The TLS of every port. */
export const tlsContext = ({ minVersion }: TlsOptions): SecureContextOptions => ({
  minVersion: `TLSv${minVersion}`,
  ciphers: CIPHERS,
  honorCipherOrder: true,
  // Every connection is verified anew: nothing is resumed, so that a certificate or an authority that counts no
  // more does so at once. No client of Berth tries to.
  secureOptions: cryptoConstants.SSL_OP_NO_RENEGOTIATION | cryptoConstants.SSL_OP_NO_TICKET,
});

/** That with the certificate that is shown, and the authorities that clients are verified with. */
export const contextOf = ({ certificate, key, ca }: ServingIdentity, tls: SecureContextOptions): SecureContextOptions => ({
  ...tls,
  ...{ cert: certificate, key, ca },
});
