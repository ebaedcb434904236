import { TOKEN_ISSUER } from '../../authn/accounts/account-tokens.ts';
import { jsonWebKeys, type TokenKeys } from '../../authn/accounts/token-keys.ts';

export interface IssuerDocument {
  readonly contentType: string;
  readonly body: object;
}

const KEYS_PATH = '/openid/v1/jwks';

/** What programs read that verify tokens of service accounts themselves, by its path; undefined for other paths. */
export function issuerDocument(path: string, keys: TokenKeys, now: Date): IssuerDocument | undefined {
  switch (path.replace(/\/$/, '')) {
    case '/.well-known/openid-configuration':
      return { contentType: 'application/json', body: configuration };
    case KEYS_PATH:
      return { contentType: 'application/jwk-set+json', body: { keys: jsonWebKeys(keys, now) } };
    default:
      return undefined;
  }
}

/** Pods reach the issuer by its name, which is that of the Service "kubernetes". */
const configuration = {
  issuer: TOKEN_ISSUER,
  jwks_uri: `${TOKEN_ISSUER}${KEYS_PATH}`,
  response_types_supported: ['id_token'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['ES256'],
};
