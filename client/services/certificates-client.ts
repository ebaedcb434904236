import type { GetAuthoritiesResponse, ListCertificatesResponse, RenewCertificatesResponse } from '../../api/generated/types.ts';
import type { Connection } from '../connection/connection.ts';
import type { CallOptions } from './resource-client.ts';

/** What is to be made anew: certificates by name (none: all), or the authority and with it everything. */
export interface RenewWish {
  readonly names?: readonly string[];
  readonly authority?: boolean;
}

/** The certificates of the cluster. */
export interface CertificatesClient {
  /**
   * What clients are to trust (PEM): the authority that signs, and, while it takes over, the one before it.
   * For every authenticated user.
   */
  authorities(call?: CallOptions): Promise<string>;
  /** What the server holds, and with what clients have come to it. For administrators. */
  list(call?: CallOptions): Promise<ListCertificatesResponse>;
  /** Makes the server's certificates anew while it runs; answers the names. For administrators. */
  renew(wish: RenewWish, call?: CallOptions): Promise<readonly string[]>;
  /**
   * From now on only the authority that signs counts. FAILED_PRECONDITION while a certificate of the old one is in use,
   * unless `force`. For administrators.
   */
  dropAuthority(force: boolean, call?: CallOptions): Promise<void>;
}

export function createCertificatesClient(connection: Connection): CertificatesClient {
  const ask = <T extends object>(name: string, messages: string, request: object, call?: CallOptions): Promise<T> => {
    const path = `/berth.server.v1.Certificates/${name}`;
    const [asked, response] = ['Request', 'Response'].map((end) => `berth.server.v1.${messages}${end}`) as [string, string];
    return connection.unary<T>({ path, request: asked, response }, request, call);
  };
  return {
    authorities: async (call) =>
      (await ask<GetAuthoritiesResponse>('GetAuthorities', 'GetAuthorities', {}, call)).certificates ?? '',
    list: (call) => ask<ListCertificatesResponse>('List', 'ListCertificates', {}, call),
    renew: async (wish, call) =>
      (await ask<RenewCertificatesResponse>('Renew', 'RenewCertificates', { ...wish }, call)).names ?? [],
    dropAuthority: async (force, call) => void (await ask('DropAuthority', 'DropAuthority', { force }, call)),
  };
}
