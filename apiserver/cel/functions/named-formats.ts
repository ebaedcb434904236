import { hasTextFormat } from '../../schema/formats.ts';
import { CelError, Opaque, Optional, type Value } from '../values.ts';
import { type Library, textArg } from './library.ts';
import { parseUrl } from './urls.ts';

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/;

function isSubdomain(text: string): boolean {
  return text.length <= 253 && text.split('.').every((part) => LABEL.test(part));
}

function isQualifiedName(text: string): boolean {
  const parts = text.split('/');
  const name = parts.at(-1)!;
  const isName = name !== '' && name.length <= 63 && LABEL_VALUE.test(name);
  return isName && (parts.length === 1 || (parts.length === 2 && isSubdomain(parts[0]!)));
}

const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  dns1123Label: (text) => text.length <= 63 && LABEL.test(text),
  dns1123Subdomain: isSubdomain,
  dns1035Label: (text) => text.length <= 63 && /^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(text),
  qualifiedName: isQualifiedName,
  dns1123LabelPrefix: (text) => text.length <= 63 && LABEL.test(text.replace(/-$/, 'a')),
  dns1123SubdomainPrefix: (text) => isSubdomain(text.replace(/-$/, 'a')),
  dns1035LabelPrefix: (text) => text.length <= 63 && /^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(text.replace(/-$/, 'a')),
  labelValue: (text) => text.length <= 63 && LABEL_VALUE.test(text),
  uri: (text) => parseUrl(text) !== undefined,
  uuid: (text) => hasTextFormat(text, 'uuid'),
  byte: (text) => hasTextFormat(text, 'byte'),
  date: (text) => hasTextFormat(text, 'date'),
  datetime: (text) => hasTextFormat(text, 'datetime'),
};

export class FormatValue extends Opaque {
  override readonly typeName = 'kubernetes.NamedFormat';
  override readonly identity: string;

  constructor(name: string) {
    super();
    this.identity = name;
  }
}

/** Kubernetes' format library. */
export const namedFormats: Library = {
  name: 'format',
  types: { 'kubernetes.NamedFormat': FormatValue },
  namespaces: ['format'],
  signatures: [
    ...Object.keys(FORMATS).map((name) => `FormatNamespace.${name}(): kubernetes.NamedFormat`),
    'FormatNamespace.named(string): optional<kubernetes.NamedFormat>',
    'kubernetes.NamedFormat.validate(string): optional<list<string>>',
  ],
  handlers: {
    ...Object.fromEntries(Object.keys(FORMATS).map((name) => [`format.${name}`, () => new FormatValue(name)])),
    'format.named': ([name]) => {
      const wanted = textArg(name);
      return Object.hasOwn(FORMATS, wanted) ? new Optional(new FormatValue(wanted)) : Optional.none;
    },
    validate: ([format, text], budget) => {
      const plain = textArg(text);
      budget.take(1 + Math.ceil(plain.length / 4));
      if (plain.length <= 8192 && FORMATS[formatArg(format).identity]!(plain)) return Optional.none;
      return new Optional([`must be a ${formatArg(format).identity}`]);
    },
  },
};

function formatArg(value: Value | undefined): FormatValue {
  if (value instanceof FormatValue) return value;
  throw new CelError('no such overload: the value must be a format');
}
