import { expect, it } from 'vitest';
import { wrongType } from './violations.ts';

const quantity = 'a quantity such as "100m", "1.5" or "2Gi"';
const container = 'spec.template.spec.containers[0]';

it.each([
  ['data[port]', 'a string', 'number 80', '; put it in quotes'],
  ['spec.replicas', 'an integer from 0 to 9', 'string "2"', '; remove the quotes'],
  ['spec.hostNetwork', 'true or false', 'string "true"', '; remove the quotes'],
  [`${container}.command`, 'a list', 'string "sleep 10"', '; write ["sleep", "10"]'],
  ['spec.accessModes', 'a list', 'string "ReadWriteOnce"', '; write ["ReadWriteOnce"]'],
  [`${container}.command`, 'a list', 'string "sh -c \'echo a; b\'"', ''],
  [`${container}.env`, 'a list', 'an object', '; each variable is an entry "- {name: NAME, value: TEXT}"'],
  [`${container}.volumeMounts`, 'a list', 'an object', ''],
  [`${container}.ports[0]`, 'an object', 'number 8080', '; write {containerPort: 8080}'],
  [`${container}.ports[0]`, 'an object', 'string "80:8080"', '; write {containerPort: 8080}'],
  ['spec.ports[1]', 'an object', 'number 80', '; write {port: 80}'],
  ['spec.ports[1]', 'an object', 'string "80:8080"', '; write {port: 80, targetPort: 8080}'],
  ['spec.ports[1]', 'an object', 'string "http"', ''],
  ['spec.selector', 'an object', 'number 80', ''],
  ['data[password]', 'base64 text', 'a string', '; stringData takes plain text'],
  ['binaryData[password]', 'base64 text', 'a string', ''],
  ['spec.resources.requests[storage]', quantity, 'string "1GB"', '; did you mean "1G"?'],
  ['spec.resources.requests[storage]', quantity, 'string "1.5gib"', '; did you mean "1.5Gi"?'],
  ['spec.resources.requests[memory]', quantity, 'string "512mb"', '; did you mean "512M"?'],
  ['spec.resources.requests[memory]', quantity, 'string "64KB"', '; did you mean "64k"?'],
  ['spec.resources.requests[memory]', quantity, 'string "much"', ''],
])('%s that should be %s and is %s: "%s"', (field, expected, found, hint) => {
  expect(wrongType(field, expected, found).description).toBe(`wrong type: expected ${expected}, found ${found}${hint}`);
});
