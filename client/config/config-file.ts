import { ConfigError } from './config-error.ts';
import { readPlainConfig } from './plain-config.ts';

/** The file as it is written: Kubernetes' kubeconfig. Fields that Berth does not know are kept. */
export interface ConfigFile {
  readonly apiVersion: string;
  readonly kind: string;
  readonly clusters: readonly { readonly name: string; readonly cluster: ConfigCluster }[];
  readonly users: readonly { readonly name: string; readonly user: ConfigUser }[];
  readonly contexts: readonly { readonly name: string; readonly context: ConfigContext }[];
  readonly 'current-context'?: string | undefined;
}

export interface ConfigCluster {
  readonly server: string;
  /** One of these two. */
  readonly 'certificate-authority-data'?: string | undefined;
  readonly 'certificate-authority'?: string | undefined;
  /** Where the server listens for programs of the same user: not Kubernetes', whose clients pass over it. */
  readonly 'berth-socket'?: string | undefined;
}

export interface ConfigUser {
  readonly 'client-certificate-data'?: string | undefined;
  readonly 'client-key-data'?: string | undefined;
  readonly token?: string | undefined;
  /** Paths of files, relative to the folder of the configuration. */
  readonly 'client-certificate'?: string | undefined;
  readonly 'client-key'?: string | undefined;
  readonly tokenFile?: string | undefined;
}

export interface ConfigContext {
  readonly cluster: string;
  readonly user: string;
  readonly namespace?: string | undefined;
}

const userFields = [
  ...['client-certificate-data', 'client-key-data', 'token'],
  ...['client-certificate', 'client-key', 'tokenFile'],
];

export function emptyConfig(): ConfigFile {
  return { apiVersion: 'v1', kind: 'Config', clusters: [], users: [], contexts: [] };
}

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reads a part and knows where in the file it stands, for messages. */
function part(file: string, at: string, value: unknown): Fields {
  if (!isFields(value)) throw new ConfigError(`read ${file}: ${at} must be a mapping; mend the file or start afresh without it`);
  return value;
}

function text(file: string, at: string, fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value !== 'string' || value === '')
    throw new ConfigError(
      `read ${file}: ${at}.${name} must be a text${typeof value === 'object' || value === '' || value === undefined ? '' : ' (put it in quotes)'}; mend the file or start afresh without it`,
    );
  return value;
}

function checkOptional(file: string, at: string, fields: Fields, names: readonly string[]): void {
  for (const name of names) if (fields[name] !== undefined) text(file, at, fields, name);
}

/** Entries of clusters, users or contexts: a list of {name, [inner]: {...}}. */
function entries<E>(file: string, fields: Fields, list: string, inner: string, check: (at: string, value: Fields) => void): E[] {
  const value = fields[list] ?? [];
  if (!Array.isArray(value))
    throw new ConfigError(`read ${file}: ${list} must be a list; mend the file or start afresh without it`);
  return value.map((entry: unknown, index) => {
    const at = `${list}[${index}]`;
    const whole = part(file, at, entry);
    text(file, at, whole, 'name');
    check(`${at}.${inner}`, part(file, `${at}.${inner}`, whole[inner]));
    // Every field that E has was just checked.
    return whole as E;
  });
}

/** Rejects with ConfigError for what is no such file. The library for YAML is loaded for what a person wrote. */
export async function parseConfig(content: string, file: string): Promise<ConfigFile> {
  let value: unknown = readPlainConfig(content);
  try {
    value ??= (await import('../../api/codec/yaml-settings.ts')).readSettings(content) ?? {};
  } catch (cause) {
    throw new ConfigError(`read ${file}: ${(cause as Error).message}`, { cause });
  }
  const fields = part(file, 'the file', value);
  const clusters = entries<ConfigFile['clusters'][number]>(file, fields, 'clusters', 'cluster', (at, cluster) => {
    text(file, at, cluster, 'server');
    const named = ['certificate-authority', 'certificate-authority-data'].filter((name) => cluster[name] !== undefined);
    for (const name of named.length > 0 ? named : ['certificate-authority-data']) text(file, at, cluster, name);
    checkOptional(file, at, cluster, ['berth-socket']);
  });
  const users = entries<ConfigFile['users'][number]>(file, fields, 'users', 'user', (at, user) =>
    checkOptional(file, at, user, userFields),
  );
  const contexts = entries<ConfigFile['contexts'][number]>(file, fields, 'contexts', 'context', (at, context) => {
    text(file, at, context, 'cluster');
    text(file, at, context, 'user');
    if (context.namespace === '') delete context.namespace;
    checkOptional(file, at, context, ['namespace']);
  });
  if (fields['current-context'] === '') delete fields['current-context'];
  checkOptional(file, 'the file', fields, ['current-context']);
  return { ...emptyConfig(), ...fields, clusters, users, contexts };
}

export async function printConfig(file: ConfigFile): Promise<string> {
  const [{ stringify }, { yamlTags }] = await Promise.all([import('yaml'), import('../../api/codec/yaml-document.ts')]);
  // With the words that it is read with: a user called "no" stands in quotes.
  return stringify(file, { lineWidth: 0, customTags: yamlTags });
}
