import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../client/clock.ts';
import { wordsOf } from '../words-of.ts';
import { type DockerConfig, DockerConfigError, parseDockerConfigJson, type RegistryEntry } from './docker-config.ts';
import { findEntries } from './keyring.ts';

export interface NodeCredentialsOptions {
  /** A Docker configuration; by default the one that `docker login` writes for the agent's user. */
  readonly file?: string | undefined;
  readonly clock: Clock;
  readonly warn: (message: string) => void;
}

interface Known {
  readonly at: number;
  readonly config: Promise<DockerConfig>;
  /** What helpers have answered, by the registry. */
  readonly kept: Map<string, Promise<RegistryEntry[]>>;
}

/** Files and credential helpers are read for each pull, but cached while many pods start together. */
const maxAgeMs = 2_000;
const helperTimeoutMs = 10_000;
/** What a credential helper calls an identity token. */
const tokenUser = '<token>';
/** What `docker login` without a registry writes. */
const hubLocation = 'https://index.docker.io/v1/';

/** Where `docker login` of this user writes. */
export function defaultDockerConfig(env: Readonly<NodeJS.ProcessEnv> = process.env): string {
  return join(env.DOCKER_CONFIG || join(homedir(), '.docker'), 'config.json');
}

/**
 * The node's own credentials for a repository. Never throws: what cannot be read is warned about,
 * once for the same cause.
 */
export function createNodeCredentials({ file = defaultDockerConfig(), clock, warn }: NodeCredentialsOptions) {
  let known: Known | undefined;
  let warned = '';

  function warnOnce(message: string): void {
    if (message !== warned) warn(message);
    warned = message;
  }

  async function read(): Promise<DockerConfig> {
    try {
      return parseDockerConfigJson(await readFile(file, 'utf8'));
    } catch (error) {
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      if (!isMissing) warnOnce(`cannot use the registry credentials of this node in ${file}: ${wordsOf(error)}`);
      return { entries: [], helpers: new Map(), store: undefined };
    }
  }

  async function fromHelper(name: string, location: string): Promise<RegistryEntry[]> {
    try {
      const { Username, Secret } = await askHelper(name, location);
      if (Secret === '') return [];
      if (Username === tokenUser) return [{ location, username: '', password: '', identityToken: Secret }];
      return [{ location, username: Username, password: Secret }];
    } catch (error) {
      warnOnce(`cannot ask docker-credential-${name} for the credentials of ${location}: ${wordsOf(error)}`);
      return [];
    }
  }

  return async (repository: string): Promise<readonly RegistryEntry[]> => {
    const nowMs = clock.now();
    if (known === undefined || Math.abs(nowMs - known.at) > maxAgeMs) known = { at: nowMs, config: read(), kept: new Map() };
    const { config, kept } = known;
    const { entries, helpers, store } = await config;
    const domain = repository.slice(0, repository.indexOf('/'));
    const location = domain === 'docker.io' ? hubLocation : domain;
    const helper = helpers.get(location) ?? helpers.get(domain) ?? store;
    if (helper !== undefined && !kept.has(location)) kept.set(location, fromHelper(helper, location));
    return [...((await kept.get(location)) ?? []), ...findEntries(entries, repository)];
  };
}

/** Docker's protocol: the registry on the standard input, the answer in JSON. */
function askHelper(name: string, location: string): Promise<{ readonly Username: string; readonly Secret: string }> {
  if (!/^[\w.-]+$/.test(name)) throw new DockerConfigError('its name is no name of a program');
  return new Promise((resolve, reject) => {
    const options = { timeout: helperTimeoutMs, maxBuffer: 1_000_000 };
    const child = execFile(`docker-credential-${name}`, ['get'], options, (error, stdout) => {
      // A helper that has nothing for a registry says so and fails:
      // this is the usual case where it keeps what others need.
      if (error !== null && /credentials not found/.test(stdout)) return resolve({ Username: '', Secret: '' });
      if (error !== null) return reject(new Error(`it ended with ${error.code ?? error.signal}`));
      try {
        const { Username = '', Secret = '' } = JSON.parse(stdout) as { Username?: string; Secret?: string };
        resolve({ Username, Secret });
      } catch {
        reject(new Error('its answer is not JSON'));
      }
    });
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(location);
  });
}
