import { stringify } from 'yaml';

/** Write an answer in the forms of text. */
export const writers = {
  json: (json: object): Buffer => Buffer.from(JSON.stringify(json)),
  yaml(json: object): Buffer {
    const text = JSON.stringify(json);
    return Buffer.from(text.length > MOST_YAML ? text : stringify(json));
  },
} as const;

/** In characters. What is longer is written as JSON, which is YAML, too: laying it out would take too long. */
const MOST_YAML = 64 * 1024;
