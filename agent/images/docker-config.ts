/** What a Docker configuration has for one registry or a part of one. */
export interface RegistryEntry {
  /** As it is written: "https://index.docker.io/v1/", "registry:5000", "*.example.com/team". */
  readonly location: string;
  readonly username: string;
  readonly password: string;
  /** A token that the registry gave for the password, as some logins write it. */
  readonly identityToken?: string;
}

export interface DockerConfig {
  readonly entries: readonly RegistryEntry[];
  /** The program docker-credential-NAME that keeps the credentials of these registries, or of all others. */
  readonly helpers: ReadonlyMap<string, string>;
  readonly store: string | undefined;
}

/** The text is no Docker configuration. Says nothing of what is in it. */
export class DockerConfigError extends Error {}

/** ~/.docker/config.json, and the key .dockerconfigjson of a Secret. Throws DockerConfigError. */
export function parseDockerConfigJson(text: string): DockerConfig {
  const config = parseObject(text);
  const helpers = Object.entries(asObject(config.credHelpers ?? {})).flatMap(([registry, name]) =>
    typeof name === 'string' ? [[registry, name] as const] : [],
  );
  const store = typeof config.credsStore === 'string' && config.credsStore !== '' ? config.credsStore : undefined;
  return { entries: readEntries(asObject(config.auths ?? {})), helpers: new Map(helpers), store };
}

/**
 * ~/.dockercfg, and the key .dockercfg of a Secret: the entries without anything around them. Throws DockerConfigError.
 */
export function parseDockerCfg(text: string): DockerConfig {
  return { entries: readEntries(parseObject(text)), helpers: new Map(), store: undefined };
}

function readEntries(auths: Readonly<Record<string, unknown>>): RegistryEntry[] {
  return Object.entries(auths).flatMap(([location, value]) => {
    const { username, password, auth, identitytoken } = asObject(value);
    const [user, secret] = typeof auth === 'string' && auth !== '' ? decodeAuth(auth) : [username, password];
    const token = typeof identitytoken === 'string' && identitytoken !== '' ? { identityToken: identitytoken } : {};
    const entry = { location, username: asText(user), password: asText(secret), ...token };
    // What a credential helper keeps is written as an entry with nothing in it.
    return entry.username === '' && entry.password === '' && entry.identityToken === undefined ? [] : [entry];
  });
}

/** "user:password" in base64, with or without padding and line ends. */
function decodeAuth(auth: string): [string, string] {
  const text = Buffer.from(auth.trim(), 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 0) throw new DockerConfigError('an entry\'s "auth" is not "user:password" in base64');
  // Some tools end it with NUL bytes.
  return [text.slice(0, colon), text.slice(colon + 1).replace(/\0+$/, '')];
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own words would show what is in it.
    throw new DockerConfigError('it is not JSON');
  }
  return asObject(value);
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new DockerConfigError('it is not a Docker configuration: objects of registries are expected');
  return value as Readonly<Record<string, unknown>>;
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
