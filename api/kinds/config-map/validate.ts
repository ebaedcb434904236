import type { FieldViolation } from '../../errors/api-error.ts';
import { invalidValue } from '../../errors/violations.ts';
import type { ConfigMap } from '../../generated/types.ts';
import { validateDataKeys, validateDataSize, validateImmutable } from '../data-keys.ts';

export function validateConfigMap(map: ConfigMap): FieldViolation[] {
  const { data = {}, binaryData = {} } = map;
  const twice = Object.keys(binaryData).filter((key) => Object.hasOwn(data, key));
  return [
    ...validateDataKeys('data', data),
    ...validateDataKeys('binaryData', binaryData),
    ...twice.map((key) => invalidValue(`binaryData[${key}]`, key, 'must not stand in data as well')),
    ...validateDataSize('data', [data, binaryData]),
  ];
}

export function validateConfigMapUpdate(next: ConfigMap, previous: ConfigMap): FieldViolation[] {
  return validateImmutable(next, previous, { data: (map) => map.data, binaryData: (map) => map.binaryData });
}
