import type { MapType } from '../../apply/field-type.ts';
import { openMessage } from '../../codec/open-message.ts';
import type { FieldViolation } from '../../errors/api-error.ts';
import type { CustomResourceDefinition, CustomResourceDefinitionVersion, KindInfo } from '../../generated/types.ts';
import type { Kind } from '../kind.ts';
import { metadataFields } from '../metadata-fields.ts';
import { customColumns } from './columns.ts';
import { plainPath, valueAt } from './plain-path.ts';
import { pathScaling } from './scaling.ts';

/** What the schema of a kind does with its objects. Absent where nothing is written, as in clients. */
export interface CustomRules {
  /** Removes what the schema does not have, in place; gives the paths. */
  prune(object: object): string[];
  /** Numbers that JSON does not carry exactly. */
  unkeptNumbers(object: object): FieldViolation[];
  /** Fills in the defaults of the schema, in place. */
  defaults(object: object): void;
  /** What breaks the schema or its rules; `previous` is absent for a new object. */
  validate(next: object, previous?: object): FieldViolation[];
  /** How server-side apply merges the fields. */
  fieldType(): MapType;
}

/** Whether a kind is one that users added. */
export function isCustom({ message }: Pick<Kind, 'message'>): boolean {
  return message === openMessage;
}

/** One version of the kind that a definition adds. Pure. */
export function customKind(
  { spec = {}, status }: CustomResourceDefinition,
  version: CustomResourceDefinitionVersion,
  rules?: CustomRules,
): Kind {
  const { kind = '', plural = '', singular = '', shortNames = [], categories = [] } = status?.acceptedNames ?? spec.names ?? {};
  const { subresources, additionalPrinterColumns, selectableFields = [] } = version;
  const apiVersion = `${spec.group}/${version.name}`;
  const known = { apiVersion, kind, plural, singular, shortNames, categories, namespaced: spec.scope === 'Namespaced' };
  const fields = selectableFields.flatMap(({ jsonPath = '' }) => {
    const steps = plainPath(jsonPath);
    return steps ? [[jsonPath.slice(1), (object: object) => textOf(valueAt(object, steps))] as const] : [];
  });
  return {
    ...bare(known),
    hasStatus: subresources?.status !== undefined,
    ...(subresources?.scale && { scale: pathScaling(subresources.scale) }),
    ...(rules && {
      prune: rules.prune,
      unkeptNumbers: rules.unkeptNumbers,
      fieldType: rules.fieldType,
      defaults: rules.defaults,
      validateCreate: (object) => rules.validate(object),
      validateUpdate: rules.validate,
      validateStatusUpdate: rules.validate,
    }),
    deprecation: deprecation(version, known),
    selectableFields: Object.fromEntries(fields),
    columns: customColumns(additionalPrinterColumns),
  };
}

/** The same as far as clients learn of it: the server makes tables, defaults and validates. */
export function kindOfInfo(info: KindInfo): Kind {
  const { apiVersion = '', kind = '', plural = '', singular = '', shortNames = [], categories = [], namespaced = false } = info;
  const known = { apiVersion, kind, plural, singular, shortNames, categories, namespaced };
  return { ...bare(known), hasStatus: info.hasStatus ?? false, ...(info.isScalable && { scale: pathScaling({}) }) };
}

type Names = Pick<Kind, 'apiVersion' | 'kind' | 'plural' | 'singular' | 'shortNames' | 'namespaced'> & {
  readonly categories: readonly string[];
};

function bare(names: Names): Kind {
  return {
    ...names,
    message: openMessage,
    service: '',
    durability: 'synced',
    updateNeedsVersion: true,
    hasStatus: false,
    nameRule: 'subdomain',
    defaults: () => {},
    validate: () => [],
    validateUpdate: () => [],
    fields: metadataFields,
    selectableFields: {},
    columns: customColumns(undefined),
  };
}

function deprecation(
  { deprecated, deprecationWarning }: CustomResourceDefinitionVersion,
  { apiVersion, kind }: Names,
): string | undefined {
  return deprecated ? (deprecationWarning ?? `${apiVersion} ${kind} is deprecated`) : undefined;
}

function textOf(value: unknown): string {
  return value === undefined || value === null || typeof value === 'object' ? '' : String(value);
}
