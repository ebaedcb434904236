import type { Json } from '../../api/meta/merge-patch.ts';

export type SchemaType = 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
export type ListType = 'atomic' | 'set' | 'map';
export type MapType = 'atomic' | 'granular';

/** What a value must be, apart from its type and parts: keywords that allOf, anyOf, oneOf and not may have, too. */
export interface ValueRules {
  readonly enum?: readonly Json[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly maximum?: number;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  readonly allOf?: readonly NestedRules[];
  readonly anyOf?: readonly NestedRules[];
  readonly oneOf?: readonly NestedRules[];
  readonly not?: NestedRules;
}

/** A schema within allOf, anyOf, oneOf or not: rules for values only; it neither types nor defaults nor describes. */
export interface NestedRules extends ValueRules {
  readonly properties?: ReadonlyMap<string, NestedRules>;
  readonly additionalProperties?: NestedRules;
  readonly items?: NestedRules;
  /** Only of x-kubernetes-int-or-string: `anyOf: [{ type: integer }, { type: string }]`. */
  readonly type?: SchemaType;
}

/** One rule of x-kubernetes-validations. */
export interface ValidationRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

/** One level of a structural schema. Immutable. */
export interface SchemaNode extends ValueRules {
  /** Undefined for x-kubernetes-int-or-string, and where x-kubernetes-preserve-unknown-fields admits any value. */
  readonly type?: SchemaType;
  readonly title?: string;
  readonly description?: string;
  readonly nullable: boolean;
  readonly default?: Json;
  readonly properties?: ReadonlyMap<string, SchemaNode>;
  /** The schema of a map's values; true for values of any kind. */
  readonly additionalProperties?: SchemaNode | true;
  readonly items?: SchemaNode;
  readonly intOrString: boolean;
  readonly preserveUnknownFields: boolean;
  readonly embeddedResource: boolean;
  readonly listType?: ListType;
  readonly listMapKeys?: readonly string[];
  readonly mapType?: MapType;
  readonly validations?: readonly ValidationRule[];
}
