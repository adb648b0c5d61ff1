//! `#[derive(Datatype)]`: structs that travel in messages, field by field.
//!
//! The derive writes the `unsafe impl` so that no user has to. It is sound because everything that the trait asks for is
//! checked when the struct is compiled: its layout is fixed (`repr(C)` or `repr(transparent)`), each field is a `Datatype`
//! itself, and where the fields lie the compiler tells (`offset_of!`). What is not a field, padding, is not named and so neither read nor
//! sent.
#![forbid(unsafe_code)]

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Field, Fields, Index, Member, Result, parse_macro_input};

/// Implements `corelace::Datatype` for a struct.
///
/// The struct must be `#[repr(C)]` or `#[repr(transparent)]`, `Copy`, and made of fields that are `Datatype`s. Anything else is refused
/// with the reason. It may have padding and type parameters.
#[proc_macro_derive(Datatype)]
pub fn derive_datatype(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let fields = fields_of(input)?;
    check_layout_is_fixed(input)?;

    let types: Vec<_> = fields.iter().map(|field| &field.ty).collect();
    let members = fields.iter().enumerate().map(|(index, field)| match &field.ident {
        Some(name) => Member::Named(name.clone()),
        None => Member::Unnamed(Index::from(index)),
    });
    let bounds = types.iter().map(|ty| quote_spanned!(ty.span() => #ty: ::corelace::Datatype));
    let (generics, arguments, given) = input.generics.split_for_impl();
    let given = given.map(|given| &given.predicates).into_iter();
    Ok(quote! {
        const _: () = {
            // SAFETY: the layout is fixed, all fields are `Datatype`s by the bounds below, and they lie where the compiler says.
            #[automatically_derived]
            unsafe impl #generics ::corelace::Datatype for #name #arguments
            where
                #(#bounds,)*
                #(#given)*
            {
                const SHAPE: &'static ::corelace::Shape = &::corelace::Shape::fields(
                    const {
                        &[#((
                            ::core::mem::offset_of!(Self, #members),
                            <#types as ::corelace::Datatype>::SHAPE,
                        )),*]
                    },
                    ::core::mem::size_of::<Self>(),
                );
            }
        };
    })
}

fn fields_of(input: &DeriveInput) -> Result<Vec<&Field>> {
    let refuse = |what: &str| Err(Error::new(input.ident.span(), what));
    match &input.data {
        Data::Struct(data) => Ok(match &data.fields {
            Fields::Named(fields) => fields.named.iter().collect(),
            Fields::Unnamed(fields) => fields.unnamed.iter().collect(),
            Fields::Unit => Vec::new(),
        }),
        Data::Enum(_) => {
            refuse("Datatype cannot be derived for an enum: not every value of its bytes is a variant")
        }
        Data::Union(_) => {
            refuse("Datatype cannot be derived for a union: some of its bytes may hold nothing")
        }
    }
}

fn check_layout_is_fixed(input: &DeriveInput) -> Result<()> {
    let mut fixed = false;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            fixed |= meta.path.is_ident("C") || meta.path.is_ident("transparent");
            // `align(8)` and `packed(2)` carry a number; what they do to the layout, the compiler tells.
            if meta.input.peek(syn::token::Paren) {
                let number;
                syn::parenthesized!(number in meta.input);
                number.parse::<syn::LitInt>()?;
            }
            Ok(())
        })?;
    }
    if fixed { Ok(()) } else { Err(Error::new(input.ident.span(), NOT_FIXED)) }
}

const NOT_FIXED: &str =
    "Datatype needs a fixed layout: add #[repr(C)], or #[repr(transparent)] for one field";
