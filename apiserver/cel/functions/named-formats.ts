import { labelNameError, labelValueError, qualifiedNameError, subdomainNameError } from '../../../api/meta/names.ts';
import { hasTextFormat } from '../../schema/formats.ts';
import { Opaque, Optional } from '../values.ts';
import { type Library, opaqueArg, textArg } from './library.ts';
import { parseUrl } from './urls.ts';

const isLabel = (text: string): boolean => labelNameError(text) === undefined;
const isSubdomain = (text: string): boolean => subdomainNameError(text) === undefined;
const isDns1035Label = (text: string): boolean => isLabel(text) && /^[a-z]/.test(text);
/** A prefix of generated names may end with "-". */
const completed = (prefix: string): string => prefix.replace(/-$/, 'a');

const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  dns1123Label: isLabel,
  dns1123Subdomain: isSubdomain,
  dns1035Label: isDns1035Label,
  qualifiedName: (text) => qualifiedNameError(text) === undefined,
  dns1123LabelPrefix: (text) => isLabel(completed(text)),
  dns1123SubdomainPrefix: (text) => isSubdomain(completed(text)),
  dns1035LabelPrefix: (text) => isDns1035Label(completed(text)),
  labelValue: (text) => labelValueError(text) === undefined,
  uri: (text) => parseUrl(text) !== undefined,
  uuid: (text) => hasTextFormat(text, 'uuid'),
  byte: (text) => hasTextFormat(text, 'byte'),
  date: (text) => hasTextFormat(text, 'date'),
  datetime: (text) => hasTextFormat(text, 'datetime'),
};

class FormatValue extends Opaque {
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
      const { identity } = opaqueArg(FormatValue, 'a format', format);
      if (plain.length <= 8192 && FORMATS[identity]!(plain)) return Optional.none;
      return new Optional([`must be a ${identity}`]);
    },
  },
};
