export { width } from './width.js';
export { wrap } from './wrap.js';
