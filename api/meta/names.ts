import { canonicalIp } from './ip.ts';

// Every check answers undefined when the text is good, else the rule in words, to stand behind "must ..." or a value.

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const PATH_NAME = /^[!-$&-.0-~]+$/;
const QUALIFIED_PART = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const ENV_NAME = /^[-._a-zA-Z][-._a-zA-Z0-9]*$/;
const PRINTABLE_ENV_NAME = /^[\x20-\x3c\x3e-\x7e]+$/;
const DATA_KEY = /^[-._a-zA-Z0-9]+$/;
const PORT_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;

const LABEL_MAX = 63;
const SUBDOMAIN_MAX = 253;

type Rule = string | undefined;

/** DNS-1123 label: 63 characters of a-z, 0-9 and "-". */
export function labelNameError(text: string): Rule {
  if (text.length > LABEL_MAX) return `must have at most ${LABEL_MAX} characters`;
  return LABEL.test(text)
    ? undefined
    : 'must consist of lower case letters, digits or "-", and start and end with a letter or digit';
}

/** DNS-1123 subdomain: labels joined by dots, 253 characters. */
export function subdomainNameError(text: string): Rule {
  if (text.length > SUBDOMAIN_MAX) return `must have at most ${SUBDOMAIN_MAX} characters`;
  if (SUBDOMAIN.test(text)) return undefined;
  return 'must consist of lower case letters, digits, "-" or ".", and start and end with a letter or digit';
}

/**
 * What can stand between two slashes of a path, and in a key of the store: printable ASCII without "/" and "%",
 * and neither "." nor "..".
 */
export function pathNameError(text: string): Rule {
  if (text.length > SUBDOMAIN_MAX) return `must have at most ${SUBDOMAIN_MAX} characters`;
  if (text === '.' || text === '..') return 'must not be "." or ".."';
  return PATH_NAME.test(text) ? undefined : 'must consist of printable ASCII characters without spaces, "/" and "%"';
}

/** An IP address in its usual form, so that no two names are the same address. */
export function ipNameError(text: string): Rule {
  const canonical = canonicalIp(text);
  if (canonical === undefined) return 'must be an IP address, as in "10.43.0.7" or "fd00::7"';
  return canonical === text ? undefined : `must be written as "${canonical}"`;
}

/** A key of labels, annotations, taints, conditions: an optional subdomain and "/", then 63 characters. */
export function qualifiedNameError(text: string): Rule {
  const slash = text.indexOf('/');
  const name = text.slice(slash + 1);
  if (slash === 0) return 'the part before "/" must not be empty';
  if (slash > 0) {
    const rule = subdomainNameError(text.slice(0, slash));
    if (rule) return `the part before "/" ${rule}`;
  }
  if (name === '') return 'the name must not be empty';
  if (name.length > LABEL_MAX) return `the name must have at most ${LABEL_MAX} characters`;
  return QUALIFIED_PART.test(name)
    ? undefined
    : 'the name must consist of letters, digits, "-", "_" or ".", and start and end with a letter or digit';
}

/** A label's value: empty, or 63 characters. */
export function labelValueError(text: string): Rule {
  if (text === '') return undefined;
  if (text.length > LABEL_MAX) return `must have at most ${LABEL_MAX} characters`;
  return QUALIFIED_PART.test(text)
    ? undefined
    : 'must be empty or consist of letters, digits, "-", "_" or ".", and start and end with a letter or digit';
}

/** An environment variable: printable ASCII without "=" (Kubernetes since 1.32). */
export function envNameError(text: string): Rule {
  return PRINTABLE_ENV_NAME.test(text) ? undefined : 'must consist of printable ASCII characters without "="';
}

/** The narrower rule for variables that envFrom makes of keys. */
export function isEnvIdentifier(text: string): boolean {
  return ENV_NAME.test(text) && text !== '.' && text !== '..';
}

/** A key of ConfigMap and Secret data, which becomes a file name. */
export function dataKeyError(text: string): Rule {
  if (text.length > SUBDOMAIN_MAX) return `must have at most ${SUBDOMAIN_MAX} characters`;
  if (!DATA_KEY.test(text)) return 'must consist of letters, digits, "-", "_" or "."';
  if (text === '.' || text.startsWith('..')) return 'must not be "." and must not start with ".."';
  return undefined;
}

/** A port's name (IANA service name): 15 characters of a-z, 0-9 and single "-", at least one letter. */
export function portNameError(text: string): Rule {
  if (text.length > 15) return 'must have at most 15 characters';
  if (!PORT_NAME.test(text)) return 'must consist of lower case letters, digits and single "-" between them';
  return /[a-z]/.test(text) ? undefined : 'must contain at least one letter';
}

/** Letters and digits without vowels and look-alikes, so that no words appear. */
const SUFFIX_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;

/** A text in the letters of generated names, byte by byte; several bytes may have the same letter. */
export function safeText(text: string): string {
  return [...Buffer.from(text)].map((byte) => SUFFIX_ALPHABET[byte % SUFFIX_ALPHABET.length]).join('');
}

/**
 * A name from metadata.generateName: the prefix, cut to fit 63 characters, and five random characters.
 * `random` is in [0, 1).
 */
export function generatedName(prefix: string, random: () => number): string {
  let suffix = '';
  for (let i = 0; i < SUFFIX_LENGTH; i++) suffix += SUFFIX_ALPHABET[Math.floor(random() * SUFFIX_ALPHABET.length)];
  return prefix.slice(0, LABEL_MAX - SUFFIX_LENGTH) + suffix;
}
