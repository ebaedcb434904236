import { hostname, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { controlPlane, groups } from '../authn/identity.ts';
import {
  type Authorities,
  AuthorityBusy,
  dropPrevious,
  openAuthorities,
  previousEndsAt,
  renewAuthority,
  shownChain,
  trustedOf,
} from './authorities.ts';
import { fitsTogether, inspectCertificate, type KeyPair, lifeOf, type NamedLife, type Subject } from './certificate-facts.ts';
import { readIfThere, writePrivateFile } from './files.ts';

/** With what the server listens (PEM). */
export interface ServingIdentity {
  /** With the authorities behind it. */
  readonly certificate: string;
  readonly key: string;
  /** The authorities (PEM) that client certificates are verified with. */
  readonly ca: string;
}

/** What the server makes for itself and for what runs beside it: the names of their files. */
const subjects = {
  server: { commonName: 'berth', organizations: [] },
  admin: { commonName: 'admin', organizations: [groups.masters] },
  scheduler: { commonName: controlPlane.scheduler, organizations: [] },
  controllers: { commonName: controlPlane.controllers, organizations: [] },
} as const satisfies Record<string, Subject>;
export type HeldName = keyof typeof subjects;
export const heldNames = Object.keys(subjects) as readonly HeldName[];

/** One is made anew when this part of its life is left. */
const RENEW_AT_REST = 0.3;

export interface HeldCertificatesOptions {
  readonly dir: string;
  /** Names and addresses that clients use besides this machine's own. */
  readonly hosts: readonly string[];
  readonly now: () => Date;
}

/**
 * The certificates of the server and of what runs beside it, and the authorities that sign them: in memory and, first,
 * on the disk. Changes run one after the other; the observers are notified of each, once it is on the disk.
 */
export class HeldCertificates {
  readonly #options: HeldCertificatesOptions;
  #authorities: Authorities;
  #pairs: ReadonlyMap<HeldName, KeyPair>;
  readonly #observers = new Set<() => void>();
  readonly #hosts: Set<string>;
  #work: Promise<unknown> = Promise.resolve();

  private constructor(options: HeldCertificatesOptions, authorities: Authorities) {
    this.#options = options;
    this.#hosts = new Set(options.hosts);
    this.#authorities = authorities;
    this.#pairs = new Map();
  }

  /** Reads what is there; makes what is missing, near its end, or for other hosts. The folder must be there. */
  static async open(options: HeldCertificatesOptions): Promise<HeldCertificates> {
    const held = new HeldCertificates(options, await openAuthorities(options.dir, options.now()));
    await held.renewDue();
    return held;
  }

  get authorities(): Authorities {
    return this.#authorities;
  }

  /**
   * The certificates that clients must trust: one (PEM), or two while another authority takes over, the signing one
   * first.
   */
  trusted(): string {
    return trustedOf(this.#authorities);
  }

  pair(name: HeldName): KeyPair {
    return this.#pairs.get(name)!;
  }

  serving(): ServingIdentity {
    const { certificate, key } = this.pair('server');
    return { certificate: certificate + shownChain(this.#authorities), key, ca: this.trusted() };
  }

  /** When each of them ends, the authority included: of two the first that ends. */
  ends(): readonly NamedLife[] {
    const { signer, previous } = this.#authorities;
    const authorities = [signer.certificate, ...(previous === undefined ? [] : [previous])].map((pem) => ({
      name: 'ca',
      ...lifeOf(pem),
    }));
    const first = authorities.reduce((a, b) => (b.endsAt < a.endsAt ? b : a));
    return [first, ...heldNames.map((name) => ({ name, ...lifeOf(this.pair(name).certificate) }))];
  }

  /** Calls `observer` after each change; the returned function ends that. */
  observe(observer: () => void): () => void {
    this.#observers.add(observer);
    return () => void this.#observers.delete(observer);
  }

  /**
   * Renews certificates that expire soon or no longer match, and drops an authority whose last certificate has expired;
   * returns the names.
   */
  renewDue(): Promise<readonly string[]> {
    return this.#change(async (now) => {
      const endsAt = previousEndsAt(this.#authorities);
      const isOver = endsAt !== undefined && endsAt <= now.getTime();
      if (isOver) this.#authorities = await dropPrevious(this.#options.dir, this.#authorities);
      return [...(isOver ? ['the authority before'] : []), ...(await this.#ensure(now, []))];
    });
  }

  /** Has the server's certificate name this host as well from now on; one that does not is made anew. */
  alsoName(host: string): Promise<readonly string[]> {
    this.#hosts.add(host);
    return this.renewDue();
  }

  /** Makes these anew, whatever they are. */
  renew(names: readonly HeldName[]): Promise<readonly string[]> {
    return this.#change((now) => this.#ensure(now, names));
  }

  /**
   * Replaces the signing authority, and renews everything with the new one. Throws an Error while another replacement
   * is under way.
   */
  renewAuthority(): Promise<readonly string[]> {
    return this.#change(async (now) => {
      if (this.#authorities.previous !== undefined) throw new AuthorityBusy();
      this.#authorities = await renewAuthority(this.#options.dir, this.#authorities, now);
      return ['ca', ...(await this.#ensure(now, heldNames))];
    });
  }

  /** From now on only what the authority that signs has signed counts. Answers whether there was another. */
  dropPrevious(): Promise<boolean> {
    return this.#change(async () => {
      if (this.#authorities.previous === undefined) return false;
      this.#authorities = await dropPrevious(this.#options.dir, this.#authorities);
      return true;
    });
  }

  async #change<T>(work: (now: Date) => Promise<T>): Promise<T> {
    const running = this.#work.then(async () => {
      const before = [this.#authorities, this.#pairs] as const;
      try {
        return await work(this.#options.now());
      } finally {
        // Also what was changed before something failed.
        if (before[0] !== this.#authorities || before[1] !== this.#pairs) for (const observer of this.#observers) observer();
      }
    });
    this.#work = running.catch(() => undefined);
    return running;
  }

  /** What was renewed before one of them fails is in force. */
  async #ensure(now: Date, anew: readonly HeldName[]): Promise<HeldName[]> {
    const { dir } = this.#options;
    const { signer } = this.#authorities;
    const renewed: HeldName[] = [];
    for (const name of heldNames) {
      const wish = { signer, subject: subjects[name], hosts: name === 'server' ? allHosts([...this.#hosts]) : undefined };
      const before = this.#pairs.get(name);
      const pair = await ensurePair(dir, name, wish, now, anew.includes(name));
      if (pair.certificate === before?.certificate) continue;
      this.#pairs = new Map(this.#pairs).set(name, pair);
      if (before !== undefined) renewed.push(name);
    }
    return renewed;
  }
}

function allHosts(given: readonly string[]): string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const routable = addresses.filter(({ address }) => !address.startsWith('fe80:')).map(({ address }) => address);
  return [...new Set(['localhost', '127.0.0.1', '::1', hostname(), ...given, ...routable])].filter(
    (host) => host !== '' && host !== '0.0.0.0' && host !== '::',
  );
}

export async function readPair(dir: string, name: string): Promise<KeyPair | undefined> {
  const [certificate, key] = await Promise.all([readIfThere(join(dir, `${name}.crt`)), readIfThere(join(dir, `${name}.key`))]);
  return certificate && key ? { certificate, key } : undefined;
}

/**
 * The key first: a certificate without its key would be taken for a damaged folder, a key without its certificate is
 * made again.
 */
export async function writePair(dir: string, name: string, pair: KeyPair): Promise<KeyPair> {
  await writePrivateFile(join(dir, `${name}.key`), pair.key);
  await writePrivateFile(join(dir, `${name}.crt`), pair.certificate);
  return pair;
}

interface PairWish {
  readonly signer: KeyPair;
  readonly subject: Subject;
  /** Of a server. */
  readonly hosts: readonly string[] | undefined;
}

/** The pair in the folder, or a new one where there is none, it does not fit, or `anew` is set. */
export async function ensurePair(
  dir: string,
  name: string,
  { signer, subject, hosts }: PairWish,
  now: Date,
  anew = false,
): Promise<KeyPair> {
  const known = await readPair(dir, name);
  if (known && !anew && isStillGood(signer, known, now, hosts)) return known;
  try {
    const { issueCertificate } = await import('./certificates.ts');
    return await writePair(dir, name, await issueCertificate(signer, subject, hosts, now));
  } catch (error) {
    // On a full disk the server still reads: with a pair that lacks a new address of this machine rather than not at
    // all.
    if (known && !anew && isFullDisk(error) && isUsable(signer, known, now)) return known;
    throw error;
  }
}

function isFullDisk(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}

function isUsable(signer: KeyPair, pair: KeyPair, now: Date): boolean {
  const { signed, fits, notAfter } = inspectCertificate(signer.certificate, pair);
  return signed && fits && notAfter > now;
}

/**
 * A pair that was cut off between its two files would not fit together; the issuer's signature and the end are what can
 * change else.
 */
function isStillGood(signer: KeyPair, pair: KeyPair, now: Date, hosts: readonly string[] | undefined): boolean {
  const { signed, fits, notBefore, notAfter, names } = inspectCertificate(signer.certificate, pair);
  const life = notAfter.getTime() - notBefore.getTime();
  if (!signed || !fits || notAfter.getTime() - now.getTime() < RENEW_AT_REST * life) return false;
  return hosts === undefined || hosts.every((host) => names(host));
}

/** Whether an authority's pair belongs together and has enough of its life left. */
export function isFresh(pair: KeyPair, now: Date): boolean {
  if (!fitsTogether(pair)) return false;
  const { beganAt, endsAt } = lifeOf(pair.certificate);
  return endsAt - now.getTime() >= RENEW_AT_REST * (endsAt - beganAt);
}
